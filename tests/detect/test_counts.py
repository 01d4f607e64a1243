"""Which token counts are believed."""

import pytest

from prober.detect.counts import (
    certain_tokens,
    credible_cached_tokens,
    is_as_planned,
    is_truncated,
    prefilled_tokens,
)
from prober.domain.answer import Answer
from prober.domain.observation import Usage
from prober.domain.target import OverlongContract
from tests.support.evidence import LIMIT, a_prompt, a_target, an_evidence


@pytest.mark.parametrize(
    ("planned", "reported", "expected"),
    [(1000, 1002, True), (1000, 998, True), (1000, 1003, False), (None, 1000, False), (1000, None, False)],
)
def test_a_count_is_as_planned_within_its_tolerance(planned: int | None, reported: int | None, *, expected: bool):
    """Two tokens either way; unknown figures agree with nothing."""
    assert is_as_planned(a_prompt(planned_tokens=planned), Usage(prompt_tokens=reported)) is expected


@pytest.mark.parametrize(
    ("planned", "reported", "expected"),
    [
        (700_000, 681_274, True),
        (681_300, 681_274, True),
        (681_300, 681_290, False),
        (1_000_000, 500_000, True),
        (600_000, 587_999, True),
        (600_000, 588_000, False),
        (700_000, 1, False),
        (700_000, 6_999, False),
        (1_000, 63, False),
        (1_000, 64, True),
        (700_000, 699_998, False),
        (700_000, 710_000, False),
        (None, 10, False),
        (700_000, None, False),
    ],
)
def test_a_truncation_is_a_credible_smaller_count(planned: int | None, reported: int | None, *, expected: bool):
    """Cut to the known limit, or below 98 % of the plan; a count of next to nothing is a lie and no truncation."""
    assert is_truncated(a_target(), a_prompt(planned_tokens=planned), Usage(prompt_tokens=reported)) is expected


@pytest.mark.parametrize(
    ("planned", "reported", "expected"),
    [
        (1000, 1001, 1001),
        (1000, 1, 998),
        (1000, 5000, 998),
        (1000, None, 998),
        (None, 77, 77),
        (None, None, None),
    ],
)
def test_the_certain_length_never_overstates(planned: int | None, reported: int | None, expected: int | None):
    """The server's count where it agrees, else the plan less its tolerance."""
    assert certain_tokens(a_prompt(planned_tokens=planned), Usage(prompt_tokens=reported)) == expected


@pytest.mark.parametrize(
    ("overlong", "answer", "planned", "reported", "expected"),
    [
        (OverlongContract.REJECT, Answer.SERVED_FULL, 900_000, 900_000, 900_000),
        (OverlongContract.REJECT, Answer.TRUNCATED, 900_000, 681_274, 681_274),
        (OverlongContract.TRUNCATE, Answer.SERVED_FULL, 900_000, 900_000, LIMIT),
        (OverlongContract.TRUNCATE, Answer.SERVED_FULL, 9_000, 9_000, 9_000),
        (OverlongContract.TRUNCATE, Answer.SERVED_FULL, None, None, None),
    ],
)
def test_tokens_to_prefill_are_those_an_honest_target_reads(
    overlong: OverlongContract, answer: Answer, planned: int | None, reported: int | None, expected: int | None
):
    """A shortened prompt counts as shortened, also where a decode worker reports the whole one."""
    evidence = an_evidence(target=a_target(overlong=overlong), answer=answer, planned=planned, reported=reported)
    assert prefilled_tokens(evidence) == expected


@pytest.mark.parametrize(
    ("prompt_tokens", "cached", "expected"),
    [(1000, 0, 0), (1000, 998, 998), (1000, 999, None), (1000, 2000, None), (1000, None, None), (None, 500, 500)],
)
def test_impossible_cached_counts_are_not_believed(prompt_tokens: int | None, cached: int | None, expected: int | None):
    """All tokens but one, or more than all, are habits of healthy disaggregated servers."""
    assert credible_cached_tokens(Usage(prompt_tokens=prompt_tokens, cached_tokens=cached)) == expected
