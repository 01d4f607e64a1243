"""The form of the exchange."""

import pytest

from prober.detect.detectors.protocol import detect_protocol
from prober.domain.answer import Answer
from prober.domain.evidence import History
from prober.domain.finding import Reason
from prober.domain.observation import Refusal, RefusalReason, Usage
from prober.domain.options import Malformation, RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.target import OverlongContract, Target
from tests.support.evidence import LIMIT, OVER, a_probe, a_target, an_evidence, an_observation


def judge(
    answer: Answer = Answer.SERVED_FULL,
    target: Target | None = None,
    history: History | None = None,
    **observation: object,
):
    """Judge an exchange with changes; outcome and reason of each finding."""
    evidence = an_evidence(
        answer=answer,
        planned=OVER,
        target=target or a_target(),
        history=history or History(),
        observation=an_observation(**observation),
    )
    return [(finding.outcome, finding.reason) for finding in detect_protocol(evidence)]


@pytest.mark.parametrize(
    ("finish", "contract", "reported", "outcome"),
    [
        ("length", OverlongContract.REJECT, OVER, Outcome.SUSPECT),
        ("length", OverlongContract.REJECT, LIMIT, Outcome.SUSPECT),
        ("length", OverlongContract.TRUNCATE, OVER, Outcome.SUSPECT),
        ("length", OverlongContract.TRUNCATE, LIMIT, Outcome.INCONCLUSIVE),
        ("stop", OverlongContract.REJECT, OVER, Outcome.INCONCLUSIVE),
        (None, OverlongContract.REJECT, OVER, Outcome.INCONCLUSIVE),
    ],
)
def test_an_empty_answer_that_claims_its_length_is_a_lie(
    finish: str | None, contract: OverlongContract, reported: int | None, outcome: Outcome
):
    """Unless SGLang's auto-truncation, switched on, left no room to answer; an immediate stop may be honest."""
    found = judge(
        Answer.EMPTY,
        a_target(overlong=contract),
        finish_reason=finish,
        usage=Usage(prompt_tokens=reported),
    )
    assert found == [(outcome, Reason.EMPTY_ANSWER)]


@pytest.mark.parametrize(
    ("answer", "reason", "in_stream", "is_named"),
    [
        (Answer.REJECTED_IN_STREAM, RefusalReason.LENGTH, True, False),
        (Answer.MALFORMED, RefusalReason.LENGTH, True, True),
        (Answer.SERVER_ERROR, RefusalReason.SERVER, True, True),
        (Answer.BUSY, RefusalReason.OVERLOAD, False, False),
    ],
)
def test_error_frames_under_200_are_named_unless_a_due_rejection(
    answer: Answer, reason: Reason, *, in_stream: bool, is_named: bool
):
    """A length rejection before the first token is the healthy form of a refusal."""
    found = judge(answer, refusal=Refusal(reason=reason, in_stream=in_stream))
    assert found == ([(Outcome.INCONCLUSIVE, Reason.ERROR_IN_STREAM)] if is_named else [])


@pytest.mark.parametrize(
    ("answer", "terminated", "bad", "is_named"),
    [
        (Answer.SERVED_FULL, True, 0, False),
        (Answer.SERVED_FULL, False, 0, True),
        (Answer.SERVED_FULL, True, 2, True),
        (Answer.MALFORMED, False, 2, False),
        (Answer.BUSY, False, 0, False),
    ],
)
def test_a_served_answer_with_broken_frames_is_not_wholly_judged(
    answer: Answer, *, terminated: bool, bad: int, is_named: bool
):
    """Part of its text may be missing; answers that broke altogether are named by the status contract."""
    found = judge(answer, is_terminated=terminated, bad_frames=bad)
    assert found == ([(Outcome.INCONCLUSIVE, Reason.MALFORMED)] if is_named else [])


@pytest.mark.parametrize(
    ("answer", "reported", "known", "is_named"),
    [
        (Answer.SERVED_FULL, "other-llm", ("glm",), True),
        (Answer.SERVED_FULL, "glm", ("glm",), False),
        (Answer.SERVED_FULL, "glm", (), False),
        (Answer.SERVED_FULL, None, ("glm",), False),
        (Answer.REROUTED, "other-llm", ("glm",), False),
    ],
)
def test_a_change_of_llm_within_a_run_is_named(
    answer: Answer, reported: int | None, known: tuple[str, ...], *, is_named: bool
):
    """Nothing learned from one LLM holds for another; a reroute was named already."""
    found = judge(answer, history=History(models_reported=known), model_reported=reported)
    assert found == ([(Outcome.INCONCLUSIVE, Reason.REROUTED)] if is_named else [])


def test_the_name_of_the_other_llm_stays_out_of_the_message():
    """It is the peer's text."""
    evidence = an_evidence(
        history=History(models_reported=("glm",)), observation=an_observation(model_reported="secret-name")
    )
    (finding,) = detect_protocol(evidence)
    assert "secret-name" not in finding.message


@pytest.mark.parametrize(
    ("malformation", "outcome"),
    [
        (Malformation.NEGATIVE_MAX_TOKENS, Outcome.INCONCLUSIVE),
        (Malformation.OUTPUT_BEYOND_CONTEXT, Outcome.INCONCLUSIVE),
        (Malformation.BROKEN_SCHEMA, Outcome.SUSPECT),
    ],
)
def test_a_limit_that_was_clamped_to_nothing_is_no_lie(malformation: Malformation, outcome: Outcome):
    """We asked for it; an empty answer to another broken request is an error path written up as success."""
    evidence = an_evidence(
        answer=Answer.EMPTY,
        probe=a_probe(options=RequestOptions(malformation=malformation)),
        observation=an_observation(finish_reason="length"),
    )

    assert [finding.outcome for finding in detect_protocol(evidence)] == [outcome]
