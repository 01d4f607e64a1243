"""Plain prompts after a storm."""

import pytest

from prober.detect.detectors.liveness import detect_liveness
from prober.domain.answer import Answer
from prober.domain.finding import Reason
from prober.domain.mark import AnswerMark
from prober.domain.outcome import Outcome
from prober.domain.probe import Role
from tests.support.evidence import a_history, a_mark, a_probe, an_evidence

LIVENESS = a_probe(role=Role.LIVENESS, label="abort_storm/0009")
ALIVE = a_mark(role=Role.LIVENESS)
DEAD = a_mark(role=Role.LIVENESS, answer=Answer.SERVER_ERROR, label="abort_storm/0005")
HUNG = a_mark(role=Role.CHECK, answer=Answer.HANG, label="abort_storm/0008")
STORM = a_mark(role=Role.NEIGHBOUR, answer=Answer.ABANDONED)


@pytest.mark.parametrize(
    ("answer", "marks", "outcome"),
    [
        (Answer.HANG, (), Outcome.INCONCLUSIVE),
        (Answer.SERVER_ERROR, (ALIVE, STORM), Outcome.INCONCLUSIVE),
        (Answer.EMPTY, (DEAD, ALIVE, STORM), Outcome.INCONCLUSIVE),
        (Answer.MALFORMED, (DEAD, STORM), Outcome.SUSPECT),
        (Answer.UNREACHABLE, (ALIVE, DEAD), Outcome.SUSPECT),
        (Answer.HANG, (ALIVE, HUNG, STORM), Outcome.SUSPECT),
        (Answer.SERVER_ERROR, (ALIVE, HUNG, STORM), Outcome.INCONCLUSIVE),
        (Answer.HANG, (HUNG, ALIVE, STORM), Outcome.INCONCLUSIVE),
        (Answer.HANG, (STORM,), Outcome.INCONCLUSIVE),
        (Answer.SERVED_FULL, (DEAD, HUNG), None),
        (Answer.BUSY, (DEAD,), None),
        (Answer.ABANDONED, (DEAD,), None),
    ],
)
def test_one_failure_may_be_a_restart_and_the_second_is_not(
    answer: Answer, marks: tuple[AnswerMark, ...], outcome: Outcome | None
):
    """Two plain prompts in a row, or one that hangs behind a valid request that hung."""
    found = detect_liveness(an_evidence(probe=LIVENESS, answer=answer, history=a_history(*marks)))

    assert [(f.reason, f.outcome) for f in found] == ([(Reason.WEDGED, outcome)] if outcome else [])


def test_the_failure_before_it_is_named():
    """A reader sees what is taken for the second sign."""
    (finding,) = detect_liveness(an_evidence(probe=LIVENESS, answer=Answer.HANG, history=a_history(DEAD, STORM)))

    assert "abort_storm/0005 before it" in finding.message


@pytest.mark.parametrize("parts", [{"probe": a_probe()}, {"history": a_history(DEAD, clean=0)}])
def test_other_roles_and_targets_that_never_answered_are_not_judged(parts: dict[str, object]):
    """A target that was down from the start is not wedged by us."""
    assert (
        detect_liveness(an_evidence(**{"probe": LIVENESS, "answer": Answer.HANG, "history": a_history(DEAD), **parts}))
        == ()
    )
