"""Free answers whose reasoning ends where somebody else's budget does."""

import pytest

from prober.detect.charts import BUDGETS
from prober.detect.detectors.reasoning_budget import detect_reasoning_budget
from prober.detect.history import advance
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence, History
from prober.domain.finding import Reason
from prober.domain.observation import Usage
from prober.domain.options import RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.probe import Role
from tests.support.evidence import a_history, a_judgement, a_mark, a_probe, an_evidence, an_observation

BOUND = RequestOptions(reasoning_budget=15)
RUN = a_history(
    *(a_mark(reasoning_tokens=count) for count in (40, 44, 33, 300, 52, 60)),
    a_mark(reasoning_tokens=16, options=BOUND),
    a_mark(role=Role.NEIGHBOUR, answer=Answer.STARVED, reasoning_tokens=4, options=BOUND),
)


def free(count: int | None, history: History) -> Evidence:
    usage = Usage(prompt_tokens=300_000, completion_tokens=60, reasoning_tokens=count)
    return an_evidence(probe=a_probe(), observation=an_observation(usage=usage), history=history)


def found(*counts: int | None) -> list[int]:
    """Numbers of the free answers that are suspected, asked one after the other."""
    history, suspected = RUN, []
    for number, count in enumerate(counts):
        evidence = free(count, history)
        findings = detect_reasoning_budget(evidence)
        suspected += [number] * len(findings)
        for finding in findings:
            assert (finding.outcome, finding.reason) == (Outcome.SUSPECT, Reason.REASONING_CUT)
            assert f"after {count} tokens" in finding.message
            assert not finding.is_confirmed
        history = advance(history, a_judgement(evidence))
    return suspected


def test_answers_that_stop_at_the_budget_again_and_again_are_suspect():
    """Three may do so by themselves, a fourth in a row does not."""
    assert found(16, 16, 16, 16, 16) == [3, 4]
    assert found(16, 16, 16) == []


def test_most_answers_may_be_whole():
    """Every second free answer in the row of one with a budget is enough, and so are five of thirty."""
    assert found(16, 40, 16, 40, 16, 40, 16) == [6]
    assert found(*([16] + [40] * 6) * 5) == [28]


@pytest.mark.parametrize("count", [15, 17, 2_048, 0, None])
def test_other_ends_of_reasoning_are_the_llms_own(count: int | None):
    """Overthinking, no thought at all, another length, or none that is counted."""
    assert found(*[count] * 20) == []
    assert found(16, 16, *[count] * 20) == []


def test_a_score_fades():
    """What came now and then is what honest answers do."""
    assert found(*([16] + [40] * 14) * 6) == []
    assert BUDGETS.cusum.failures_to_alarm == 4
