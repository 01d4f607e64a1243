"""Domain values -> table rows, and what look-ups give back."""

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import Any

from prober.domain.campaign import Run, Trigger
from prober.domain.canary import Canary
from prober.domain.evidence import Evidence, Judgement
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from prober.domain.reading import Sighting
from prober.domain.verdict import RunReport, Spending
from prober.store.schema.columns import NAME_LENGTH
from prober.store.terms import terms_of

Row = dict[str, Any]

MAX_HEADERS = 40

MAX_MESSAGE = 4_000

MAX_FACT = 1_000

MAX_COUNT = 2**62
"""A remote may report any number; no database column holds any number."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """One run as the ledger knows it; `outcome` None while it is open."""

    run_id: str
    target: str
    build: str
    started_at: dt.datetime
    ended_at: dt.datetime | None
    outcome: Outcome | None
    reasons: tuple[Reason, ...]
    probes: int | None
    spent: Spending | None
    trigger: Trigger | None = None
    scenarios: tuple[str, ...] = ()
    conclusive: int | None = None
    clean: int | None = None
    leak_rate_upper95: float | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredCanary:
    """Whose a canary is: the run and probe that sent it."""

    canary: Canary
    run_id: str
    label: str
    tenant: str
    planned_tokens: int | None
    remembered_at: dt.datetime

    def age(self, now: dt.datetime) -> dt.timedelta:
        """How long ago it was about to be sent."""
        return now - self.remembered_at


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredFinding:
    """One finding with its place in the ledger. Its sightings are filled in by `LedgerLookups.finding` only."""

    finding_id: int
    run_id: str
    target: str
    found_at: dt.datetime
    finding: Finding
    acknowledged_at: dt.datetime | None
    acknowledged_by: str | None
    donors: tuple[StoredCanary, ...] = ()
    """Who sent the canaries sighted, as far as this ledger knows them."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredTally:
    """Judged probes of one scenario against one build of a target, with one outcome."""

    scenario: str
    build: str
    outcome: Outcome
    probes: int
    last_at: dt.datetime
    """When the latest of them was sent."""


def clip(text: str, length: int = NAME_LENGTH) -> str:
    """Bound a string of the remote's, and drop what no database stores: NUL and lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "ignore").decode()[:length]


def _clipped(text: str | None) -> str | None:
    return None if text is None else clip(text)


def _bounded(count: int | None) -> int | None:
    return None if count is None else max(-MAX_COUNT, min(count, MAX_COUNT))


def run_row(run: Run, estimate: Spending, now: dt.datetime) -> Row:
    """Build the row of a run that begins."""
    campaign = run.campaign
    return {
        "run_id": run.run_id,
        "target": clip(campaign.target.name),
        "model": clip(campaign.target.model),
        "build": clip(campaign.target.build),
        "trigger": run.trigger,
        "scenarios": list(campaign.scenarios),
        "tenants": {str(tenant.number): clip(tenant.name) for tenant in campaign.tenants},
        "started_at": run.started_at,
        "last_seen_at": now,
        "terms": terms_of(campaign),
        "facts": {clip(name): clip(value, MAX_FACT) for name, value in run.facts.items()},
        **_spending("estimated", estimate),
    }


def verdict_row(report: RunReport) -> Row:
    """Build what is added to the run's row when it ends."""
    verdict, limits = report.verdict, report.limits
    return {
        "ended_at": report.ended_at,
        "last_seen_at": report.ended_at,
        "outcome": verdict.outcome,
        "reasons": [reason.value for reason in verdict.reasons],
        "probes": verdict.probes,
        "conclusive": verdict.conclusive,
        "clean": verdict.clean,
        "leak_rate_upper95": verdict.leak_rate_upper95,
        "evidence_bits": verdict.evidence_bits,
        **_spending("spent", report.spent),
        "largest_served": limits.largest_served,
        "smallest_rejected": limits.smallest_rejected,
        "first_wrong": limits.first_wrong,
    }


def probe_row(run: Run, probe: Probe, prompt: Prompt, now: dt.datetime) -> Row:
    """Build the row of a canary about to be sent."""
    return {
        "run_id": run.run_id,
        "label": probe.label,
        "scenario": probe.scenario,
        "role": probe.role,
        "tenant": clip(probe.tenant.name),
        "tenant_number": prompt.canary.tenant_number,
        "probe_number": prompt.canary.probe_number,
        "epoch": prompt.canary.epoch,
        "form": probe.prompt.form,
        "planned_tokens": prompt.planned_tokens,
        "token_tolerance": prompt.token_tolerance,
        "filler_words": prompt.filler_words,
        "is_rewrite": probe.prompt.rewrite_of is not None,
        "expectation": probe.expectation,
        "max_output_tokens": probe.max_output_tokens,
        "remembered_at": now,
    }


def observation_row(probe_id: int, judgement: Judgement) -> Row:
    """Build the row of what came back. Text is there by hash and counts; foreign strings are bounded."""
    evidence = judgement.evidence
    observation, usage = evidence.observation, evidence.observation.usage
    return {
        "probe_id": probe_id,
        "sent_at": observation.sent_at,
        "answer": evidence.answer,
        "outcome": judgement.outcome,
        "status": observation.status,
        "failure": observation.failure,
        "failure_detail": clip(observation.failure_detail),
        **_refusal(evidence),
        "finish_reason": _clipped(observation.finish_reason),
        "request_id": _clipped(observation.request_id or None),
        "response_id": _clipped(observation.response_id),
        "model_reported": _clipped(observation.model_reported),
        "evidence_headers": _headers(observation.evidence_headers),
        "prompt_tokens": _bounded(usage.prompt_tokens),
        "completion_tokens": _bounded(usage.completion_tokens),
        "cached_tokens": _bounded(usage.cached_tokens),
        "reasoning_tokens": _bounded(usage.reasoning_tokens),
        "timeline": dataclasses.asdict(observation.timeline),
        "is_stream": observation.is_stream,
        "is_terminated": observation.is_terminated,
        "token_frames": observation.token_frames,
        "bad_frames": observation.bad_frames,
        "bytes_received": observation.bytes_received,
        "system_fingerprint": _clipped(observation.system_fingerprint),
        **_reading(evidence),
    }


def finding_row(run_id: str, probe_id: int | None, finding: Finding, now: dt.datetime) -> Row:
    """Build the row of a finding; `probe_id` None for one about the run as a whole."""
    return {
        "run_id": run_id,
        "probe_id": probe_id,
        "found_at": now,
        "detector": finding.detector,
        "outcome": finding.outcome,
        "reason": finding.reason,
        "message": clip(finding.message, MAX_MESSAGE),
        "evidence_bits": finding.evidence_bits,
        "is_confirmed": finding.is_confirmed,
        "kinds": [kind.value for kind in finding.kinds],
    }


def sighting_row(finding_id: int, sighting: Sighting) -> Row:
    """Build the row of one canary that a finding rests on."""
    return {
        "finding_id": finding_id,
        "tier": sighting.tier,
        "tenant_number": sighting.canary.tenant_number,
        "probe_number": sighting.canary.probe_number,
        "is_live": sighting.is_live,
        "windows": sighting.windows,
        "first_block": sighting.first_block,
        "last_block": sighting.last_block,
        "evidence_bits": sighting.evidence_bits,
    }


def _spending(prefix: str, spending: Spending) -> Row:
    return {f"{prefix}_{name}": figure for name, figure in dataclasses.asdict(spending).items()}


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {clip(name): clip(value) for name, value in sorted(headers.items())[:MAX_HEADERS]}


def _refusal(evidence: Evidence) -> Row:
    refusal = evidence.observation.refusal
    if refusal is None:
        return {}
    return {
        "refusal": refusal.reason,
        "refusal_code": clip(refusal.code),
        "is_refused_in_stream": refusal.in_stream,
        "stated_limits": [_bounded(limit) for limit in refusal.stated_limits],
        "stated_tokens": _bounded(refusal.stated_tokens),
    }


def _reading(evidence: Evidence) -> Row:
    reading = evidence.reading
    return {
        "answer_sha256": reading.sha256,
        "answer_characters": reading.characters,
        "answer_words": reading.words,
        "novel_words": reading.novel_words,
        "longest_novel_run": reading.longest_novel_run,
        "is_refusal_like": reading.is_refusal_like,
        "needles_asked": [position.value for position in reading.recall.asked],
        "needles_found": [position.value for position in reading.recall.found],
        "own_windows": sum(sighting.windows for sighting in reading.own),
        "foreign_windows": sum(sighting.windows for sighting in reading.foreign),
        "fragments": [
            {
                "tenant_number": tally.tenant_number,
                "probe_number": None if tally.canary is None else tally.canary.probe_number,
                "groups": tally.groups,
                "pairs": tally.pairs,
                "exclusive_words": tally.exclusive_words,
                "evidence_bits": tally.evidence_bits,
            }
            for tally in reading.fragments
        ],
    }
