"""Which kinds of fault a finding points to: by what it looks like, and by the traffic that provoked it.

A scenario provokes few kinds, and what it looks like tells most of these apart: two remain at most. The pairs follow
the symptoms and triggers that the public reports of each kind have in common (docs/fault-kinds.md).
"""

import dataclasses
from collections.abc import Mapping
from typing import Final

from prober.detect.symptoms import Symptom, symptom_of
from prober.domain.evidence import Evidence
from prober.domain.fault_kind import FaultKind as K
from prober.domain.finding import Finding
from prober.domain.outcome import Outcome

Kinds = tuple[K, ...]
"""At most two, the likelier first."""

SMALL_TOKENS: Final = 1_024
"""A prompt of so few tokens spans little more than the state of one slot: what it shows is rather state than pages."""

_ANYWHERE: Final[Mapping[Symptom, Kinds]] = {
    Symptom.SWAPPED: (K.MISDELIVERY, K.WRONG_SESSION),
    Symptom.MIXED: (K.LIVE_WRITER, K.BLOCK_TABLE_RACE),
    Symptom.STRAY: (K.STRAY_TOKENS, K.BLOCK_TABLE_RACE),
    Symptom.REPEATED: (K.RESPONSE_CACHE, K.MISDELIVERY),
    Symptom.LOST: (K.PARTIAL_CONTEXT, K.NUMERIC_CORRUPTION),
    Symptom.HEADLESS: (K.PARTIAL_CONTEXT, K.REJECTED_BUT_ADMITTED),
    Symptom.GARBLED: (K.NUMERIC_CORRUPTION, K.READ_BEFORE_READY),
    Symptom.COLLAPSED: (K.ROW_STATE, K.STRAY_TOKENS),
    Symptom.CACHED: (K.SHARED_CACHE, K.RESPONSE_CACHE),
    Symptom.SERVED: (K.REJECTED_BUT_ADMITTED, K.PARTIAL_CONTEXT),
    Symptom.UNTRUE: (K.PROTOCOL_LIE, K.STRAY_TOKENS),
    Symptom.STUCK: (K.PROTOCOL_LIE, K.LIVE_WRITER),
    Symptom.DRIFTED: (K.NUMERIC_CORRUPTION, K.MISROUTING),
    Symptom.ODD: (K.MISROUTING, K.PARTIAL_CONTEXT),
}
"""Where no scenario is known to provoke anything more particular."""

_LIMITS: Final[Mapping[Symptom, Kinds]] = {
    **dict.fromkeys(Symptom, (K.REJECTED_BUT_ADMITTED, K.PARTIAL_CONTEXT)),
    Symptom.HEADLESS: (K.PARTIAL_CONTEXT, K.REJECTED_BUT_ADMITTED),
    Symptom.ODD: (K.PARTIAL_CONTEXT, K.REJECTED_BUT_ADMITTED),
    Symptom.UNTRUE: (K.PROTOCOL_LIE, K.REJECTED_BUT_ADMITTED),
    Symptom.STUCK: (K.PROTOCOL_LIE, K.REJECTED_BUT_ADMITTED),
}

_BY_SCENARIO: Final[Mapping[str, Mapping[Symptom, Kinds]]] = {
    "calibration": {
        **_ANYWHERE,
        # Small prompts one by one: nobody hangs up on anything, and nothing runs beside them.
        Symptom.SWAPPED: (K.WRONG_SESSION, K.STALE_STATE),
        Symptom.MIXED: (K.BLOCK_TABLE_RACE, K.WRONG_SESSION),
    },
    "limit_sweep": _LIMITS,
    "seed_and_probe": _LIMITS,
    "abort_storm": {
        **dict.fromkeys(Symptom, (K.LIVE_WRITER, K.STALE_STATE)),
        Symptom.STUCK: (K.LIVE_WRITER, K.PROTOCOL_LIE),
        Symptom.UNTRUE: (K.PROTOCOL_LIE, K.LIVE_WRITER),
    },
    "replay": {
        **dict.fromkeys(Symptom, (K.BLOCK_TABLE_RACE, K.WRONG_SESSION)),
        Symptom.SWAPPED: (K.WRONG_SESSION, K.BLOCK_TABLE_RACE),
        Symptom.REPEATED: (K.WRONG_SESSION, K.RESPONSE_CACHE),
        Symptom.CACHED: (K.WRONG_SESSION, K.SHARED_CACHE),
    },
    "park_and_return": {
        **dict.fromkeys(Symptom, (K.READ_BEFORE_READY, K.FAILED_LOAD)),
        Symptom.SWAPPED: (K.WRONG_SESSION, K.FAILED_LOAD),
        Symptom.REPEATED: (K.WRONG_SESSION, K.FAILED_LOAD),
        Symptom.HEADLESS: (K.PARTIAL_CONTEXT, K.READ_BEFORE_READY),
        Symptom.LOST: (K.PARTIAL_CONTEXT, K.READ_BEFORE_READY),
    },
    "parallel_answers": {
        **dict.fromkeys(Symptom, (K.BLOCK_TABLE_RACE, K.STRAY_TOKENS)),
        Symptom.SWAPPED: (K.MISDELIVERY, K.HANDOFF_MIX_UP),
        Symptom.REPEATED: (K.MISDELIVERY, K.HANDOFF_MIX_UP),
        Symptom.MIXED: (K.BLOCK_TABLE_RACE, K.HANDOFF_MIX_UP),
        Symptom.STRAY: (K.STRAY_TOKENS, K.BLOCK_TABLE_RACE),
        Symptom.UNTRUE: (K.STRAY_TOKENS, K.PROTOCOL_LIE),
        Symptom.STUCK: (K.MISDELIVERY, K.PROTOCOL_LIE),
    },
    "mixed_parameters": {
        **dict.fromkeys(Symptom, (K.ROW_STATE, K.STRAY_TOKENS)),
        Symptom.STRAY: (K.STRAY_TOKENS, K.ROW_STATE),
        Symptom.UNTRUE: (K.STRAY_TOKENS, K.ROW_STATE),
    },
    "provoked_refusals": {
        **dict.fromkeys(Symptom, (K.REJECTED_BUT_ADMITTED, K.PROTOCOL_LIE)),
        Symptom.UNTRUE: (K.PROTOCOL_LIE, K.REJECTED_BUT_ADMITTED),
        Symptom.STUCK: (K.PROTOCOL_LIE, K.REJECTED_BUT_ADMITTED),
    },
    "keepalive": dict.fromkeys(Symptom, (K.CONNECTION_DESYNC, K.MISDELIVERY)),
    "rollout": {
        **dict.fromkeys(Symptom, (K.NUMERIC_CORRUPTION, K.WRONG_SESSION)),
        Symptom.SWAPPED: (K.WRONG_SESSION, K.NUMERIC_CORRUPTION),
        Symptom.MIXED: (K.WRONG_SESSION, K.NUMERIC_CORRUPTION),
        Symptom.REPEATED: (K.WRONG_SESSION, K.RESPONSE_CACHE),
    },
    "drift": dict.fromkeys(Symptom, (K.NUMERIC_CORRUPTION, K.MISROUTING)),
    "cohorts": dict.fromkeys(Symptom, (K.MISROUTING, K.PARTIAL_CONTEXT)),
    "stream_contract": {
        **dict.fromkeys(Symptom, (K.PROTOCOL_LIE, K.STRAY_TOKENS)),
        Symptom.STRAY: (K.STRAY_TOKENS, K.PROTOCOL_LIE),
        Symptom.LOST: (K.STRAY_TOKENS, K.PROTOCOL_LIE),
    },
}


def name_kinds(evidence: Evidence, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return the same findings in the same order, each with the kinds of fault that it points to.

    Every SUSPECT or VIOLATION gets some; an INCONCLUSIVE finding where it has a symptom of its own; CLEAN ones none.
    """
    return tuple(dataclasses.replace(finding, kinds=kinds_of(evidence, finding, findings)) for finding in findings)


def kinds_of(evidence: Evidence, finding: Finding, findings: tuple[Finding, ...]) -> Kinds:
    """Kinds that one finding points to, beside the others about the same answer."""
    if finding.outcome is Outcome.CLEAN:
        return ()
    symptom = symptom_of(evidence, finding, findings)
    if symptom is None and finding.outcome is Outcome.INCONCLUSIVE:
        return ()
    symptom = symptom or Symptom.LOST
    chosen = _particular(evidence, symptom)
    return chosen if chosen is not None else _BY_SCENARIO.get(evidence.probe.scenario, _ANYWHERE)[symptom]


def _particular(evidence: Evidence, symptom: Symptom) -> Kinds | None:
    """What single features of the probe say; None: nothing beside its scenario."""
    scenario, options = evidence.probe.scenario, evidence.probe.options
    if scenario == "abort_storm" and _is_small(evidence) and symptom not in {Symptom.STUCK, Symptom.UNTRUE}:
        return (K.STALE_STATE, K.LIVE_WRITER)
    if scenario == "twins":
        return _twins(symptom, is_salted=options.cache_salt is not None, shares_id=options.request_id is not None)
    if scenario == "cache_sharing":
        return _cache_sharing(symptom, is_salted=options.cache_salt is not None)
    is_known = scenario in _BY_SCENARIO
    if not is_known and symptom is Symptom.SWAPPED and evidence.observation.is_connection_reused:
        return (K.CONNECTION_DESYNC, K.MISDELIVERY)
    if not is_known and evidence.probe.is_over_limit:
        return _LIMITS[symptom]
    return None


def _is_small(evidence: Evidence) -> bool:
    tokens = evidence.prompt.planned_tokens or evidence.observation.usage.prompt_tokens
    return tokens is not None and tokens <= SMALL_TOKENS


def _twins(symptom: Symptom, *, is_salted: bool, shares_id: bool) -> Kinds:
    """Twins that are asked at once share an id; near twins, asked in turn, a prefix, and some of them salts."""
    if symptom is Symptom.CACHED:
        return (K.CACHE_KEY, K.SHARED_CACHE)
    if shares_id:
        return (K.MISDELIVERY, K.RESPONSE_CACHE) if symptom is not Symptom.MIXED else (K.MISDELIVERY, K.CACHE_KEY)
    if symptom is Symptom.REPEATED:
        return (K.RESPONSE_CACHE, K.CACHE_KEY)
    if symptom is Symptom.SWAPPED:
        return (K.CACHE_KEY, K.RESPONSE_CACHE) if is_salted else (K.RESPONSE_CACHE, K.CACHE_KEY)
    return (K.CACHE_KEY, K.MISDELIVERY)


def _cache_sharing(symptom: Symptom, *, is_salted: bool) -> Kinds:
    """A salt that does not keep tenants apart is a key without it; without salts nothing but the tenant could."""
    if symptom is Symptom.CACHED:
        return (K.CACHE_KEY, K.SHARED_CACHE) if is_salted else (K.SHARED_CACHE, K.RESPONSE_CACHE)
    if symptom in {Symptom.SWAPPED, Symptom.REPEATED}:
        return (K.RESPONSE_CACHE, K.CACHE_KEY)
    return (K.CACHE_KEY, K.SHARED_CACHE)
