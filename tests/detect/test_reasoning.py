"""Where reasoning stops, and how often an honest one stops where a neighbour's budget ends."""

import random

import pytest

from prober.detect.charts import BUDGETS
from prober.detect.reasoning import (
    FAR_LONGER,
    LEAST_REFERENCES,
    MARKS_OF_THE_END,
    NEIGHBOURS,
    is_cut_on_purpose,
    is_cut_short,
    stops_of_neighbours,
)
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.mark import AnswerMark
from prober.domain.observation import Usage
from prober.domain.options import PLAIN, RequestOptions
from prober.domain.probe import Role
from prober.plan.scenarios.mixed_parameters import LEAST_ALONE, REASONING_BUDGETS
from tests.support.evidence import a_history, a_mark, a_probe, an_evidence, an_observation

BOUND = RequestOptions(reasoning_budget=13)
NEIGHBOUR = a_mark(role=Role.NEIGHBOUR, options=BOUND, answer=Answer.STARVED, reasoning_tokens=4)


def alone(count: int | None, options: RequestOptions = PLAIN, **changes: object) -> AnswerMark:
    """What stays of an undisturbed answer whose reasoning took so many tokens."""
    return a_mark(reasoning_tokens=count, options=options, **changes)


LONG = tuple(alone(count) for count in (40, 55, 300, 41, 90, 26))
KNOWN = (*LONG, alone(13, BOUND), NEIGHBOUR)


def beside(*marks: AnswerMark, count: int | None = 13, **parts: object) -> Evidence:
    usage = Usage(prompt_tokens=300_000, completion_tokens=60, reasoning_tokens=count)
    return an_evidence(observation=an_observation(usage=usage), history=a_history(*marks), **parts)


def test_a_reasoning_that_stops_where_a_neighbours_budget_does_is_cut_short():
    """Exactly there; one token more or less is the LLM's own end."""
    assert is_cut_short(beside(*KNOWN)) is True
    assert is_cut_short(beside(*KNOWN, count=14)) is False
    assert is_cut_short(beside(*KNOWN, count=0)) is False


@pytest.mark.parametrize("marks", [-MARKS_OF_THE_END, 1, MARKS_OF_THE_END])
def test_a_stop_is_what_this_server_counts_for_the_budget(marks: int):
    """Servers count the marks of a reasoning's ends or not: the undisturbed answer with that budget tells."""
    known = (*(alone(100) for _ in LONG), alone(13 + marks, BOUND), NEIGHBOUR)
    assert is_cut_short(beside(*known, count=13 + marks)) is True


def test_the_budget_of_an_earlier_wave_is_one_too():
    """A row keeps it until somebody moves in; one whose undisturbed reasoning is no longer than that tells nothing."""
    later = RequestOptions(reasoning_budget=17)
    known = (*LONG, alone(13, BOUND), alone(17, later), NEIGHBOUR, a_mark(role=Role.NEIGHBOUR, options=later))

    assert stops_of_neighbours(beside(*known)) == {13}
    assert stops_of_neighbours(beside(*(alone(34) for _ in LONG), *known[len(LONG) :])) == {13, 17}
    assert is_cut_short(beside(*known, count=13)) is True


@pytest.mark.parametrize(
    "marks",
    [
        (),
        LONG,
        (*LONG, alone(13, BOUND), *(a_mark(role=Role.CHECK) for _ in range(NEIGHBOURS))),
        (*LONG, NEIGHBOUR),
        (*LONG, alone(13 + MARKS_OF_THE_END + 1, BOUND), NEIGHBOUR),
        (*LONG, alone(None, BOUND), NEIGHBOUR),
        (*LONG, alone(15, RequestOptions(reasoning_budget=15)), NEIGHBOUR),
        (*LONG, alone(13, BOUND, scenario="drift"), NEIGHBOUR),
        (*LONG[1:], alone(13, BOUND), NEIGHBOUR),
        (*LONG[1:], alone(None), alone(13, BOUND), NEIGHBOUR),
        (*LONG[1:], alone(90, answer=Answer.BUSY), alone(13, BOUND), NEIGHBOUR),
        (*LONG, alone(FAR_LONGER * 13 - 1), alone(13, BOUND), NEIGHBOUR),
    ],
    ids=[
        "nothing",
        "no budget",
        "long ago",
        "never shown",
        "not kept to",
        "not counted",
        "another budget",
        "another scenario",
        "too few references",
        "one not counted",
        "one not served",
        "short by itself",
    ],
)
def test_without_a_budget_that_works_and_long_undisturbed_reasoning_nothing_can_be_told(marks: tuple[AnswerMark, ...]):
    """A target that ignores budgets, counts no reasoning, or thinks as little by itself, says nothing."""
    assert len(LONG) == LEAST_REFERENCES
    assert stops_of_neighbours(beside(*marks)) == frozenset()
    assert is_cut_short(beside(*marks)) is None


@pytest.mark.parametrize(
    "parts",
    [{"count": None}, {"answer": Answer.BUSY}, {"probe": a_probe(options=BOUND)}],
    ids=["not counted", "not served", "its own budget"],
)
def test_only_free_answers_with_a_count_are_compared(parts: dict[str, object]):
    """The text of a reasoning has another length at each count, so that it cannot stand in for one."""
    assert is_cut_short(beside(*KNOWN, **parts)) is None


@pytest.mark.parametrize(("tokens", "is_cut"), [(12, True), (13, False), (2_048, False)])
def test_an_output_below_its_own_budget_was_never_to_be_an_answer(tokens: int, *, is_cut: bool):
    """Only then is the missing answer our own doing."""
    assert is_cut_on_purpose(a_probe(options=BOUND, max_output_tokens=tokens)) is is_cut
    assert not is_cut_on_purpose(a_probe(max_output_tokens=1))


def lengths(rng: random.Random, median: int, sigma: float, count: int) -> list[int]:
    return [round(median * rng.lognormvariate(0, sigma)) for _ in range(count)]


@pytest.mark.no_coverage
@pytest.mark.parametrize("median", [30, 60, 100, 300])
@pytest.mark.parametrize("sigma", [0.2, 0.6, 1.3])
def test_honest_lengths_raise_no_more_alarms_than_stated(median: int, sigma: float):
    """Of lengths from even to wildly spread: 0.6 % of free answers at most stop there, and 1 in 10,000 alarms."""
    rng = random.Random(f"{median} {sigma}")
    free = stopped = alarms = 0
    options = [RequestOptions(reasoning_budget=budget) for budget in REASONING_BUDGETS]
    budgeted = [alone(bound.reasoning_budget, bound) for bound in options]
    neighbours = [a_mark(role=Role.NEIGHBOUR, options=bound) for bound in options]
    for _ in range(60):
        known = [alone(count) for count in lengths(rng, median, sigma, LEAST_ALONE + 2)]
        history = a_history(*known, *budgeted, *neighbours)
        scores: dict[str, float] = {}
        for count in lengths(rng, median, sigma, 32):
            evidence = an_evidence(
                observation=beside(count=count).observation,
                history=a_history(scores=scores, references=history.references, marks=history.marks),
            )
            free += 1
            stopped += is_cut_short(evidence) is True
            alarms += BUDGETS.alarms(evidence)
            score = BUDGETS.after(evidence)
            scores = scores if score is None else {BUDGETS.name: score}
    # Three standard deviations above what is stated, of 1,920 free answers.
    assert stopped <= 0.006 * free + 3 * (0.006 * free) ** 0.5
    assert alarms == 0
