"""Search for a limit: plain and probabilistic bisection against known limits."""

import math
import random
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.stats.boundary import Bisection, ProbabilisticBisection

CONTEXT = 1_048_576


def run_plain(limit: int, search: Bisection) -> tuple[Bisection, int]:
    """Ask an honest oracle until settled."""
    count = 0
    while (length := search.next_length) is not None:
        search, count = search.answered(length, is_within=length <= limit), count + 1
    return search, count


@pytest.mark.no_coverage
@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.integers(0, 2_000_000), st.integers(1, 2_000_000), st.integers(1, 5_000), st.data())
def test_plain_bisection_finds_every_limit_in_logarithmic_time(low: int, width: int, grain: int, data: st.DataObject):
    """The bracket always holds the limit, ends no wider than the grain, after ceil(log2(width / grain)) answers."""
    limit = low + data.draw(st.integers(0, width - 1))
    search, count = run_plain(limit, Bisection(largest_within=low, smallest_beyond=low + width, grain=grain))

    assert search.largest_within <= limit < search.smallest_beyond
    assert search.smallest_beyond - search.largest_within <= grain
    assert count <= math.ceil(math.log2(width / grain)) if width > grain else count == 0
    assert search.contradictions == 0


@pytest.mark.parametrize(("grain", "answers"), [(64, 14), (1024, 10), (10_485, 7)])
def test_answers_needed_are_the_published_ones(grain: int, answers: int):
    """From 131,072 to the context: 14, 10 and 7 answers."""
    start = Bisection(largest_within=131_072, smallest_beyond=CONTEXT, grain=grain)
    counts = [run_plain(limit, start)[1] for limit in range(131_072, CONTEXT, 9_973)]
    assert max(counts) == answers


def test_the_incidents_limit_is_found_to_the_token():
    """681,273 tokens are served, 681,274 are not."""
    search, _ = run_plain(681_273, Bisection(largest_within=300_000, smallest_beyond=CONTEXT))
    assert (search.largest_within, search.smallest_beyond) == (681_273, 681_274)


@pytest.mark.parametrize(
    ("length", "is_within", "bracket", "contradictions"),
    [
        (150, True, (150, 200), 0),
        (150, False, (100, 150), 0),
        (90, True, (100, 200), 0),
        (100, False, (100, 200), 1),
        (210, False, (100, 200), 0),
        (200, True, (100, 200), 1),
    ],
)
def test_an_answer_narrows_confirms_or_contradicts(
    length: int, *, is_within: bool, bracket: tuple[int, int], contradictions: int
):
    """Answers that no limit explains move nothing and are counted."""
    search = Bisection(largest_within=100, smallest_beyond=200).answered(length, is_within=is_within)
    assert (search.largest_within, search.smallest_beyond) == bracket
    assert search.contradictions == contradictions


@pytest.mark.parametrize(("low", "high", "grain"), [(5, 5, 1), (6, 5, 1), (5, 9, 0)])
def test_a_bracket_without_a_limit_is_an_error(low: int, high: int, grain: int):
    """Such a search could not end."""
    with pytest.raises(ValueError, match=r"no limit|grain"):
        Bisection(largest_within=low, smallest_beyond=high, grain=grain)


def run_noisy(seed: int, *, error: float, assumed: float, tolerance: int) -> tuple[int, bool]:
    """Search for a random limit with answers flipped at a rate; answers needed, and whether the limit was covered."""
    rng = random.Random(seed)
    limit = rng.randrange(200_000, 1_040_000)
    search = ProbabilisticBisection.over(
        shortest=131_072,
        longest=CONTEXT,
        page_tokens=64,
        false_beyond_rate=assumed,
        false_within_rate=assumed,
    )
    count = 0
    while not search.is_settled(tolerance) and count < 200:
        length = search.next_length
        is_within = (length <= limit) != (rng.random() < error)
        search, count = search.answered(length, is_within=is_within), count + 1
    low, high = search.interval()
    return count, low - 64 <= limit < high + 64


@pytest.mark.parametrize(
    ("error", "tolerance", "mean"),
    [(0.0, 64, 15.0), (0.05, 64, 20.8), (0.1, 64, 29.5), (0.0, 1_024, 12.9), (0.05, 10_485, 14.3)],
)
def test_probabilistic_bisection_needs_the_published_number_of_answers(error: float, tolerance: int, mean: float):
    """Mean answers over 60 limits within a tenth and a standard error of the published means; nearly all covered."""
    runs = [run_noisy(seed, error=error, assumed=error, tolerance=tolerance) for seed in range(60)]
    assert statistics.fmean(count for count, _ in runs) == pytest.approx(mean, rel=0.12)
    assert sum(covered for _, covered in runs) >= 58


def test_one_wrong_answer_does_not_lose_the_limit():
    """The assumed error rate is at least 1 %: contradicting answers win a length back."""
    search = ProbabilisticBisection.over(shortest=0, longest=6_400, page_tokens=64)
    search = search.answered(1_000, is_within=False)
    for _ in range(3):
        search = search.answered(3_000, is_within=True)
    search = search.answered(3_200, is_within=False)
    assert 3_000 <= search.estimate < 3_200


def test_the_ends_of_the_grid_are_reachable():
    """A limit at either end is found as well."""
    for limit in (0, 640):
        search = ProbabilisticBisection.over(shortest=0, longest=640, page_tokens=64)
        for _ in range(30):
            length = search.next_length
            search = search.answered(length, is_within=length <= limit)
        assert search.estimate == limit
        assert search.is_settled(0)


def test_certainty_beyond_rounding_still_gives_an_interval_on_the_grid():
    """Asked for all the mass, the interval ends on the grid although sums of weights may round below 1."""
    search = ProbabilisticBisection.over(shortest=0, longest=6_400, page_tokens=64)
    assert search.interval(confidence=1.0) == (0, 6_400)


@pytest.mark.parametrize(
    ("shortest", "longest", "page", "rate"), [(0, 63, 64, 0.0), (0, 640, 0, 0.0), (0, 640, 64, 0.5), (0, 640, 64, -0.1)]
)
def test_a_grid_or_rate_that_teaches_nothing_is_an_error(shortest: int, longest: int, page: int, rate: float):
    """A coin toss, or a grid of one length, has nothing to find."""
    with pytest.raises(ValueError, match=r"grid|rate"):
        ProbabilisticBisection.over(
            shortest=shortest, longest=longest, page_tokens=page, false_beyond_rate=rate, false_within_rate=0.0
        )
