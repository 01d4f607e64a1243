"""Every answer under every expectation and contract."""

import pytest

from prober.detect.detectors.status_contract import detect_status_contract
from prober.domain.answer import Answer
from prober.domain.finding import Reason
from prober.domain.observation import FailureKind, Observation, Refusal, RefusalReason, Usage
from prober.domain.options import Malformation, RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation
from prober.domain.target import OverlongContract
from tests.support.evidence import CONTEXT, LIMIT, NOON, OVER, a_probe, a_prompt, a_target, an_evidence, an_observation

CLEAN, INCONCLUSIVE, SUSPECT, VIOLATION = Outcome
SERVE, REJECT, EITHER = Expectation
KEEP, CUT = OverlongContract

# (answer, expectation, contract) -> outcome, reason; sizes below the context, full counts unless truncated
TABLE = {
    (Answer.SERVED_FULL, SERVE, KEEP): (CLEAN, Reason.SERVED),
    (Answer.SERVED_FULL, SERVE, CUT): (CLEAN, Reason.SERVED),
    (Answer.SERVED_FULL, EITHER, KEEP): (CLEAN, Reason.SERVED),
    (Answer.SERVED_FULL, EITHER, CUT): (CLEAN, Reason.SERVED),
    (Answer.SERVED_FULL, REJECT, KEEP): (SUSPECT, Reason.SERVED_OVER_LIMIT),
    (Answer.SERVED_FULL, REJECT, CUT): (SUSPECT, Reason.SERVED_OVER_LIMIT),
    (Answer.STARVED, SERVE, KEEP): (INCONCLUSIVE, Reason.STARVED),
    (Answer.STARVED, SERVE, CUT): (INCONCLUSIVE, Reason.STARVED),
    (Answer.STARVED, EITHER, KEEP): (INCONCLUSIVE, Reason.STARVED),
    (Answer.STARVED, EITHER, CUT): (INCONCLUSIVE, Reason.STARVED),
    (Answer.STARVED, REJECT, KEEP): (SUSPECT, Reason.SERVED_OVER_LIMIT),
    (Answer.STARVED, REJECT, CUT): (SUSPECT, Reason.SERVED_OVER_LIMIT),
    (Answer.TRUNCATED, SERVE, KEEP): (SUSPECT, Reason.TRUNCATED),
    (Answer.TRUNCATED, SERVE, CUT): (INCONCLUSIVE, Reason.TRUNCATED),
    (Answer.TRUNCATED, EITHER, KEEP): (SUSPECT, Reason.TRUNCATED),
    (Answer.TRUNCATED, EITHER, CUT): (CLEAN, Reason.TRUNCATED),
    (Answer.TRUNCATED, REJECT, KEEP): (SUSPECT, Reason.TRUNCATED),
    (Answer.TRUNCATED, REJECT, CUT): (CLEAN, Reason.TRUNCATED),
}
for rejected in (Answer.REJECTED_OK, Answer.REJECTED_IN_STREAM):
    for contract in OverlongContract:
        TABLE[rejected, SERVE, contract] = (INCONCLUSIVE, Reason.REJECTED_BELOW_LIMIT)
        TABLE[rejected, EITHER, contract] = (CLEAN, Reason.REJECTED_AS_DUE)
        TABLE[rejected, REJECT, contract] = (CLEAN, Reason.REJECTED_AS_DUE)
SAYS_NOTHING = {
    Answer.REROUTED: Reason.REROUTED,
    Answer.EMPTY: Reason.EMPTY_ANSWER,
    Answer.REFUSED_OTHERWISE: Reason.REFUSED_OTHERWISE,
    Answer.HANG: Reason.HANG,
    Answer.ABANDONED: Reason.ABANDONED,
    Answer.BUSY: Reason.BUSY,
    Answer.UNAUTHORISED: Reason.UNAUTHORISED,
    Answer.NOT_FOUND: Reason.NOT_FOUND,
    Answer.TOO_MANY_BYTES: Reason.TOO_MANY_BYTES,
    Answer.SERVER_ERROR: Reason.SERVER_ERROR,
    Answer.MALFORMED: Reason.MALFORMED,
    Answer.UNREACHABLE: Reason.UNREACHABLE,
}
for silent, said in SAYS_NOTHING.items():
    for expected in Expectation:
        for contract in OverlongContract:
            TABLE[silent, expected, contract] = (INCONCLUSIVE, said)


def judge(
    answer: Answer = Answer.SERVED_FULL,
    expectation: Expectation = REJECT,
    contract: OverlongContract = KEEP,
    planned: int | None = OVER,
    reported: int | None = OVER,
    **parts: object,
):
    """Judge one probe and return its only finding."""
    evidence = an_evidence(
        target=a_target(overlong=contract, **parts.pop("limits", {})),
        probe=a_probe(expectation=expectation),
        answer=answer,
        planned=planned,
        reported=reported,
        **parts,
    )
    (finding,) = detect_status_contract(evidence)
    return finding


@pytest.mark.parametrize("answer", Answer)
@pytest.mark.parametrize("expectation", Expectation)
@pytest.mark.parametrize("contract", OverlongContract)
def test_every_cell_has_its_outcome(answer: Answer, expectation: Expectation, contract: OverlongContract):
    """What was not seen is INCONCLUSIVE; only service where a refusal was due, or silent truncation, is suspicious."""
    planned = OVER if expectation is not SERVE else 600_000
    reported = (LIMIT if expectation is not SERVE else 300_000) if answer is Answer.TRUNCATED else planned
    finding = judge(answer, expectation, contract, planned, reported)

    assert (finding.outcome, finding.reason) == TABLE[answer, expectation, contract]
    assert finding.probe_label == "baseline/0001"
    assert finding.message.endswith(".")


@pytest.mark.parametrize(
    ("contract", "reported", "outcome", "reason"),
    [
        (KEEP, CONTEXT, VIOLATION, Reason.SERVED_OVER_CONTEXT),
        (KEEP, None, VIOLATION, Reason.SERVED_OVER_CONTEXT),
        (KEEP, 1, VIOLATION, Reason.SERVED_OVER_CONTEXT),
        (CUT, CONTEXT, SUSPECT, Reason.SERVED_OVER_CONTEXT),
        (CUT, LIMIT, CLEAN, Reason.TRUNCATED),
        (CUT, None, INCONCLUSIVE, Reason.USAGE_MISSING),
    ],
)
@pytest.mark.parametrize("answer", [Answer.SERVED_FULL, Answer.STARVED])
def test_a_context_served_in_full_and_more_is_a_violation_by_itself(
    answer: Answer, contract: OverlongContract, reported: int | None, outcome: Outcome, reason: Reason
):
    """Deterministic, whatever the usage says; only where truncation is promised it waits for content evidence."""
    finding = judge(answer, REJECT, contract, CONTEXT + 4, CONTEXT + 4 if reported == CONTEXT else reported)
    assert (finding.outcome, finding.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("planned", "reported", "outcome"),
    [
        (CONTEXT, CONTEXT, VIOLATION),
        (CONTEXT, CONTEXT - 1, CLEAN),
        (CONTEXT + 1, None, CLEAN),
        (CONTEXT + 2, None, VIOLATION),
        (CONTEXT - 1, CONTEXT - 1, CLEAN),
    ],
)
def test_the_context_counts_as_passed_only_beyond_the_tolerance(
    planned: int | None, reported: int | None, outcome: Outcome
):
    """The server's agreeing count decides, else the plan less its tolerance."""
    assert judge(Answer.SERVED_FULL, EITHER, KEEP, planned, reported).outcome is outcome


@pytest.mark.parametrize(
    ("expectation", "planned", "reported", "outcome"),
    [
        (REJECT, LIMIT, LIMIT - 1, CLEAN),
        (REJECT, LIMIT, LIMIT, SUSPECT),
        (SERVE, LIMIT - 1, LIMIT, CLEAN),
        (REJECT, LIMIT, LIMIT - 500, SUSPECT),
    ],
)
def test_a_count_that_lands_across_the_limit_accuses_nobody(
    expectation: Expectation, planned: int | None, reported: int | None, outcome: Outcome
):
    """Where plan and count agree within tolerance but the limit lies between them, either was right."""
    assert judge(Answer.SERVED_FULL, expectation, KEEP, planned, reported).outcome is outcome


@pytest.mark.parametrize(
    ("stated", "outcome"),
    [(LIMIT, CLEAN), (LIMIT - 1, INCONCLUSIVE), (LIMIT + 400, INCONCLUSIVE), (None, INCONCLUSIVE)],
)
def test_a_refusal_that_states_a_count_across_the_limit_was_due(stated: int | None, outcome: Outcome):
    """The server's own count in its refusal is as good as its usage."""
    refusal = Refusal(reason=RefusalReason.LENGTH, stated_tokens=stated)
    observation = an_observation(status=400, refusal=refusal, usage=Usage())
    finding = judge(Answer.REJECTED_OK, SERVE, KEEP, LIMIT - 1, observation=observation)
    assert finding.outcome is outcome


def test_a_prompt_cut_to_the_limit_exactly_is_honest_where_cutting_is_promised():
    """One token over the limit, answered with the limit's count: not to be told from a truncation."""
    assert judge(Answer.SERVED_FULL, REJECT, CUT, LIMIT + 1, LIMIT).outcome is CLEAN
    assert judge(Answer.SERVED_FULL, REJECT, CUT, LIMIT + 1, LIMIT + 1).outcome is SUSPECT


def test_a_missing_count_matters_only_where_a_truncation_could_hide():
    """Below the limit a target that may truncate has no reason to."""
    assert judge(Answer.SERVED_FULL, SERVE, CUT, 300_000, None).outcome is CLEAN


def test_our_own_fault_is_named_as_ours():
    """It counts as nobody else's."""
    observation = an_observation(status=None, failure=FailureKind.INTERNAL)
    finding = judge(Answer.UNREACHABLE, SERVE, KEEP, observation=observation)
    assert (finding.outcome, finding.reason) == (INCONCLUSIVE, Reason.INTERNAL_ERROR)


def test_a_calibration_prompt_of_unknown_size_is_judged_as_well():
    """No plan and no count: served is served, refused is refused."""
    prompt = a_prompt(planned_tokens=None)
    served = judge(Answer.SERVED_FULL, SERVE, KEEP, reported=None, prompt=prompt)
    refusal = an_observation(status=400, refusal=Refusal(reason=RefusalReason.LENGTH, stated_tokens=9), usage=Usage())
    refused = judge(Answer.REJECTED_OK, SERVE, KEEP, prompt=prompt, observation=refusal)
    assert (served.outcome, refused.outcome) == (CLEAN, INCONCLUSIVE)
    assert "unknown number" in served.message


@pytest.mark.parametrize("answer", Answer)
def test_broken_requests_that_were_served_or_refused_are_judged_elsewhere(answer: Answer):
    """Their length says nothing; what is neither is named here as ever."""
    probe = a_probe(expectation=Expectation.REJECT, options=RequestOptions(malformation=Malformation.BROKEN_JSON))

    found = detect_status_contract(an_evidence(probe=probe, answer=answer))

    assert len(found) == (0 if answer.is_served or answer.is_rejected else 1)
    assert all(finding.outcome is Outcome.INCONCLUSIVE for finding in found)


def test_our_own_words_on_a_failure_are_passed_on():
    """They say what mends it; where there are none, the status is told."""
    refused = Observation(sent_at=NOON, failure=FailureKind.CONNECT, failure_detail="connection refused")
    failed = Observation(sent_at=NOON, status=502)

    (unreachable,) = detect_status_contract(an_evidence(answer=Answer.UNREACHABLE, observation=refused))
    (broken,) = detect_status_contract(an_evidence(answer=Answer.SERVER_ERROR, observation=failed))

    assert "(connection refused)" in unreachable.message
    assert "(HTTP 502)" in broken.message


@pytest.mark.parametrize(("budget", "reason"), [(13, Reason.ABANDONED), (4, Reason.STARVED), (None, Reason.STARVED)])
def test_an_answer_that_we_cut_in_its_reasoning_is_no_starved_one(budget: int | None, reason: Reason):
    """It weighs as little as a hang-up of ours, and counts as clean no more than that does."""
    probe = a_probe(max_output_tokens=4, options=RequestOptions(reasoning_budget=budget))
    (finding,) = detect_status_contract(an_evidence(probe=probe, answer=Answer.STARVED))

    assert (finding.outcome, finding.reason) == (INCONCLUSIVE, reason)
