"""The kinds of fault that a finding points to."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.detect.detectors import DETECTORS
from prober.detect.ladder import settle
from prober.detect.suspicion import SMALL_TOKENS, kinds_of, name_kinds
from prober.domain.evidence import Evidence
from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Finding, Reason
from prober.domain.observation import Usage
from prober.domain.options import RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation
from prober.domain.reading import Recall
from tests.support.evidence import (
    ALL_FOUND,
    ALL_MISSED,
    END,
    HEAD,
    a_finding,
    a_probe,
    a_prompt,
    a_reading,
    a_sighting,
    an_evidence,
    an_observation,
    evidences,
)

SUSPECT = Outcome.SUSPECT
ONLY_END = Recall(asked=(HEAD, END), found=(END,))
CANARY = a_finding(Reason.FOREIGN_CANARY, Outcome.VIOLATION, sightings=(a_sighting(),))
STRAY = a_finding(Reason.FOREIGN_FRAGMENTS, SUSPECT, detector="tokens")
SALTED, TWINNED = RequestOptions(cache_salt="s"), RequestOptions(request_id="i")


def kinds(
    scenario: str, finding: Finding | Reason, recall: Recall = ALL_MISSED, *, tokens: int = 9_000, **probe: object
) -> list[str]:
    """Codes of the kinds that a finding of a scenario points to."""
    if isinstance(finding, Reason):
        finding = a_finding(finding, SUSPECT)
    evidence = an_evidence(
        probe=a_probe(scenario=scenario, **probe),
        prompt=a_prompt(planned_tokens=tokens),
        reading=a_reading(recall=recall),
    )
    return [kind.value for kind in kinds_of(evidence, finding, (finding,))]


@pytest.mark.parametrize(
    ("kind", "seen"),
    [
        ("K1", kinds("seed_and_probe", CANARY)),
        ("K1", kinds("limit_sweep", Reason.SERVED_OVER_LIMIT)),
        ("K1", kinds("limit_sweep", Reason.PREFILL_TOO_FAST)),
        ("K1", kinds("provoked_refusals", Reason.SERVED_INVALID)),
        ("K1", kinds("provoked_refusals", CANARY)),
        ("K2", kinds("abort_storm", CANARY, ALL_FOUND)),
        ("K2", kinds("abort_storm", Reason.WEDGED)),
        ("K3", kinds("park_and_return", CANARY, ALL_FOUND)),
        ("K3", kinds("park_and_return", Reason.GARBLED)),
        ("K4", kinds("park_and_return", CANARY, ALL_FOUND)),
        ("K4", kinds("park_and_return", CANARY, ALL_MISSED)),
        ("K5", kinds("parallel_answers", CANARY, ALL_MISSED)),
        ("K5", kinds("parallel_answers", CANARY, ALL_FOUND)),
        ("K6", kinds("replay", CANARY, ALL_FOUND)),
        ("K6", kinds("parallel_answers", CANARY, ALL_FOUND)),
        ("K6", kinds("parallel_answers", Reason.LOST_UNDER_LOAD)),
        ("K7", kinds("abort_storm", CANARY, tokens=SMALL_TOKENS)),
        ("K7", kinds("abort_storm", CANARY)),
        ("K8", kinds("twins", CANARY, options=SALTED)),
        ("K8", kinds("twins", CANARY, ALL_FOUND)),
        ("K8", kinds("twins", Reason.CACHE_HIT_ON_NEW_TEXT)),
        ("K8", kinds("cache_sharing", Reason.CACHE_SHARED, options=SALTED)),
        ("K9", kinds("replay", CANARY)),
        ("K9", kinds("replay", Reason.REPLAY_DIVERGED)),
        ("K9", kinds("park_and_return", CANARY)),
        ("K9", kinds("rollout", CANARY)),
        ("K9", kinds("rollout", Reason.REPLAY_DIVERGED)),
        ("K9", kinds("calibration", CANARY)),
        ("K9", kinds("calibration", CANARY, ALL_FOUND)),
        ("K6", kinds("calibration", CANARY, ALL_FOUND)),
        ("K7", kinds("calibration", CANARY)),
        ("K10", kinds("mixed_parameters", Reason.VOCABULARY_COLLAPSED)),
        ("K10", kinds("mixed_parameters", Reason.GARBLED)),
        ("K11", kinds("mixed_parameters", STRAY)),
        ("K11", kinds("parallel_answers", Reason.TOKENS_DOUBLED)),
        ("K11", kinds("parallel_answers", Reason.EMPTY_ANSWER)),
        ("K11", kinds("stream_contract", Reason.STREAM_BROKEN)),
        ("K12", kinds("parallel_answers", CANARY)),
        ("K12", kinds("parallel_answers", Reason.NEAR_DUPLICATE_ANSWER)),
        ("K12", kinds("twins", CANARY, options=TWINNED)),
        ("K12", kinds("keepalive", CANARY)),
        ("K13", kinds("twins", CANARY)),
        ("K13", kinds("twins", Reason.DUPLICATE_RESPONSE_ID)),
        ("K13", kinds("twins", Reason.NEAR_DUPLICATE_ANSWER, options=SALTED)),
        ("K13", kinds("cache_sharing", CANARY)),
        ("K14", kinds("keepalive", CANARY)),
        ("K15", kinds("cohorts", Reason.COHORT_DIFFERS)),
        ("K15", kinds("cohorts", Reason.USAGE_MISMATCH)),
        ("K15", kinds("baseline", Reason.REROUTED)),
        ("K16", kinds("limit_sweep", Reason.TRUNCATED)),
        ("K16", kinds("seed_and_probe", Reason.SERVED_OVER_LIMIT)),
        ("K16", kinds("park_and_return", Reason.RECALL_COLLAPSED, ONLY_END)),
        ("K17", kinds("provoked_refusals", Reason.HANG)),
        ("K17", kinds("abort_storm", Reason.EMPTY_ANSWER)),
        ("K17", kinds("limit_sweep", Reason.EMPTY_ANSWER)),
        ("K17", kinds("stream_contract", Reason.STREAM_BROKEN)),
        ("K18", kinds("drift", Reason.DRIFTED)),
        ("K18", kinds("rollout", Reason.GARBLED)),
        ("K19", kinds("cache_sharing", Reason.CACHE_SHARED)),
    ],
)
def test_the_kind_that_a_scenario_provokes_is_among_two(kind: str, seen: list[str]):
    """By the symptom that its public reports describe, in the traffic that triggers it."""
    assert kind in seen
    assert len(seen) == len(set(seen)) == 2


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (kinds("twins", CANARY, options=SALTED), ["K8", "K13"]),
        (kinds("twins", CANARY), ["K13", "K8"]),
        (kinds("twins", CANARY, options=TWINNED), ["K12", "K13"]),
        (kinds("twins", CANARY, ALL_FOUND, options=TWINNED), ["K12", "K8"]),
        (kinds("twins", Reason.GARBLED), ["K8", "K12"]),
        (kinds("cache_sharing", Reason.CACHE_SHARED), ["K19", "K13"]),
        (kinds("cache_sharing", Reason.CACHE_SHARED, options=SALTED), ["K8", "K19"]),
        (kinds("cache_sharing", Reason.GARBLED), ["K8", "K19"]),
        (kinds("abort_storm", CANARY, tokens=SMALL_TOKENS), ["K7", "K2"]),
        (kinds("abort_storm", CANARY, tokens=SMALL_TOKENS + 1), ["K2", "K7"]),
        (kinds("abort_storm", Reason.WEDGED, tokens=SMALL_TOKENS), ["K2", "K17"]),
    ],
)
def test_single_features_set_the_order(seen: list[str], expected: list[str]):
    """Salts, shared ids and the victim's size."""
    assert seen == expected


def test_where_no_scenario_says_more_the_connection_and_the_limit_do():
    """A reused connection that brings another's answer is out of step; over the limit it is the admission."""
    reused = an_evidence(
        probe=a_probe(scenario="mine"),
        observation=an_observation(is_connection_reused=True),
        reading=a_reading(recall=ALL_MISSED),
    )

    assert kinds_of(reused, CANARY, (CANARY,))[0] is FaultKind.CONNECTION_DESYNC
    assert kinds("mine", CANARY)[0] == "K12"
    assert kinds("mine", CANARY, expectation=Expectation.REJECT)[0] == "K1"


def test_a_size_that_nobody_counted_is_not_small():
    """Nor is anything else said of it."""
    probe, prompt = a_probe(scenario="abort_storm"), a_prompt(planned_tokens=None)
    counted, unknown = (
        an_evidence(probe=probe, prompt=prompt, observation=an_observation(usage=Usage(prompt_tokens=tokens)))
        for tokens in (200, None)
    )

    assert kinds_of(counted, CANARY, (CANARY,))[0] is FaultKind.STALE_STATE
    assert kinds_of(unknown, CANARY, (CANARY,))[0] is FaultKind.LIVE_WRITER


@pytest.mark.no_coverage
@settings(max_examples=300, derandomize=True, deadline=None)
@given(evidence=evidences(), reason=st.sampled_from(Reason), outcome=st.sampled_from(Outcome))
def test_every_warning_names_one_or_two_kinds_and_nothing_clean_does(
    evidence: Evidence, reason: Reason, outcome: Outcome
):
    """Whatever the reason, one that no detector knows yet included."""
    (finding,) = name_kinds(evidence, (a_finding(reason, outcome),))

    assert len(finding.kinds) <= 2
    assert bool(finding.kinds) or outcome in {Outcome.CLEAN, Outcome.INCONCLUSIVE}
    assert not finding.kinds or outcome is not Outcome.CLEAN


@pytest.mark.no_coverage
@settings(max_examples=100, derandomize=True, deadline=None)
@given(evidence=evidences())
def test_naming_changes_nothing_else(evidence: Evidence):
    """Same findings, same order, same words."""
    found = settle(evidence, tuple(finding for detector in DETECTORS for finding in detector(evidence)))
    named = name_kinds(evidence, found)

    assert [(f.reason, f.outcome, f.message) for f in named] == [(f.reason, f.outcome, f.message) for f in found]


def test_failures_that_say_nothing_point_to_nothing():
    """A busy target or a revoked credential is no fault of isolation."""
    for reason in (Reason.BUSY, Reason.UNAUTHORISED, Reason.UNREACHABLE, Reason.TIMING_UNTRUSTED):
        assert kinds_of(an_evidence(), a_finding(reason, Outcome.INCONCLUSIVE), ()) == ()
