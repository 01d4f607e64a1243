"""Sizes that scenarios send."""

import pytest

from prober.domain.probe import PromptSpec
from prober.domain.target import Ask
from prober.plan.lengths import (
    FACT_LINES,
    MAX_PARK_TOKENS,
    baseline_tokens,
    donor_tokens,
    evicting_tokens,
    lines_within,
    longer_tokens,
    over_limit_lengths,
    park_tokens,
    roomy_tokens,
    seed_tokens,
    size_of,
    small_tokens,
    sweep_points,
)
from prober.plan.stage import Stage
from tests.support.scripted import CONTEXT, FIRST_REJECTED, POOL, exact_calibration, stage_of, target_of

UNKNOWN = target_of(prefill_pool_tokens=None, decode_pool_tokens=None)


def test_baseline_size_is_a_quarter_of_the_first_rejected_length():
    """By default the large size is a quarter of what is refused; a setting replaces it."""
    assert baseline_tokens(stage_of(target_of())) == FIRST_REJECTED // 4
    assert baseline_tokens(stage_of(target_of(), baseline_tokens=5_000)) == 5_000


def test_no_size_is_too_small_to_compose():
    """Sizes never fall below the smallest prompt that can be composed."""
    smallest = exact_calibration().smallest_tokens
    tiny = stage_of(target_of(context_tokens=200, prefill_pool_tokens=200), baseline_tokens=1, donor_tokens=1)
    assert baseline_tokens(tiny) == donor_tokens(tiny) == small_tokens(tiny) == smallest
    assert all(point >= smallest for point in sweep_points(tiny))


@pytest.mark.parametrize(("large", "small"), [(170_318, 2_048), (1_500, 1_500)])
def test_small_size_never_exceeds_the_large_one(large: int, small: int):
    """The small probes are small whatever the large size is."""
    assert small_tokens(stage_of(target_of(), baseline_tokens=large)) == small


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (stage_of(target_of()), FIRST_REJECTED // 2),
        (stage_of(target_of(prefill_pool_tokens=4 * CONTEXT)), 400_000),
        (stage_of(UNKNOWN), (CONTEXT - 6) // 4),
        (stage_of(UNKNOWN, donor_tokens=300_000), 300_000),
    ],
)
def test_donors_are_sure_to_be_served(stage: Stage, expected: int):
    """A donor is at most half the known limit; with the pool unknown no larger than the baseline."""
    assert donor_tokens(stage) == expected


@pytest.mark.parametrize(
    ("stage", "longest", "expected"),
    [
        (stage_of(target_of()), 700_000, 700_000),
        (stage_of(target_of()), 400_000, 700_032),
        (stage_of(UNKNOWN), 700_000, 2 * (CONTEXT - 6)),
        (stage_of(UNKNOWN, seed_tokens=0), 700_000, 0),
        (stage_of(target_of(), seed_tokens=9), 700_000, 9),
    ],
)
def test_seeding_covers_every_page_an_over_limit_probe_can_be_given(stage: Stage, longest: int, expected: int):
    """Seeded tokens are max(L, D - L) for a known decode pool, twice the limit otherwise, or as set."""
    assert seed_tokens(stage, longest) == expected


def test_over_limit_lengths_start_right_above_a_known_pool():
    """With the pool known, one page above the first rejected length comes first, and all lie in the window or above."""
    lengths = over_limit_lengths(stage_of(target_of()))
    assert lengths == (FIRST_REJECTED + 64, 864_925, CONTEXT + 1, FIRST_REJECTED, CONTEXT - 1)


def test_over_limit_lengths_of_a_large_pool_start_at_the_context():
    """With a pool larger than the context, no length that fits counts as over the limit."""
    lengths = over_limit_lengths(stage_of(target_of(prefill_pool_tokens=2 * CONTEXT)))
    assert min(lengths) == CONTEXT - 6


def test_over_limit_lengths_without_a_pool_try_the_whole_window_first():
    """With the pool unknown, the longest prompt with room for its answer comes first: it overflows any smaller pool."""
    stage = stage_of(UNKNOWN)
    lengths = over_limit_lengths(stage)
    assert lengths[:2] == (roomy_tokens(stage), CONTEXT + 1) == (CONTEXT - 71, CONTEXT + 1)
    assert lengths[2:] == (655_323, 851_914, CONTEXT - 1)


def test_over_limit_lengths_always_exceed_what_is_verified():
    """A baseline near the window's end leaves only lengths above it."""
    lengths = over_limit_lengths(stage_of(UNKNOWN, baseline_tokens=CONTEXT - 20))
    assert lengths == (CONTEXT - 19, CONTEXT + 1, CONTEXT - 1)


@pytest.mark.parametrize(
    "wanted",
    [
        *(FIRST_REJECTED + step for step in (-1, 0, 1)),
        *(POOL + step for step in (-64, -1, 0, 1, 64)),
        *(CONTEXT + step for step in (-64, -1, 0, 1, 64)),
        864_889,
    ],
)
def test_sweep_meets_every_limit_from_both_sides(wanted: int):
    """Each known limit is probed below, at and above, by a token and by a page; the window between them too."""
    assert wanted in sweep_points(stage_of(target_of()))


def test_sweep_points_begin_with_the_decisive_pair_and_never_repeat():
    """The last length to serve and the first to refuse come first, and no length comes twice."""
    points = sweep_points(stage_of(target_of()))
    assert points[:2] == (FIRST_REJECTED - 1, FIRST_REJECTED)
    assert len(points) == len(set(points))


def test_sweep_points_take_up_stated_limits():
    """Limits that refusals state join the points; absurd ones and a flood of them do not."""
    stage = stage_of(UNKNOWN)
    added = set(sweep_points(stage, (500_000, 9 * CONTEXT, 5_000, 6_000, 7_000, 8_000))) - set(sweep_points(stage))
    assert added == {limit + step for limit in (500_000, 5_000, 6_000, 7_000) for step in (-1, 0, 1)}


@pytest.mark.parametrize("ask", Ask)
@pytest.mark.parametrize("tokens", [1, 400, 2_048, 100_000])
def test_lines_are_counted_back_to_the_size_they_were_chosen_for(ask: Ask, tokens: int):
    """The longest prompt of about a size is within one line of it, and never below the smallest."""
    calibration = exact_calibration()
    lines = lines_within(tokens, calibration, ask)
    size = size_of(PromptSpec(filler_lines=lines, ask=ask), calibration)
    assert lines == FACT_LINES or tokens - 18 < size <= tokens + 1
    assert size_of(PromptSpec(tokens=tokens, ask=ask), calibration) == tokens


def test_longer_prompts_are_sure_to_be_served():
    """Four times the small size, unless only less is known to be served."""
    assert longer_tokens(stage_of(target_of())) == 8_192
    assert longer_tokens(stage_of(target_of(context_tokens=8_192, prefill_pool_tokens=8_192))) == 8_186 // 2
    unknown = target_of(context_tokens=8_192, prefill_pool_tokens=None)
    assert longer_tokens(stage_of(unknown)) == baseline_tokens(stage_of(unknown)) == 8_186 // 4
    assert longer_tokens(stage_of(unknown, baseline_tokens=300)) == 300


def test_parking_evicts_what_is_known_within_bounds():
    """A quarter more than the pool, or than the context where no pool is known; a setting replaces the bound."""
    small = target_of(context_tokens=8_192, prefill_pool_tokens=32_768)
    assert evicting_tokens(stage_of(small)) == park_tokens(stage_of(small)) == 40_960
    assert evicting_tokens(stage_of(UNKNOWN)) == CONTEXT * 5 // 4
    assert park_tokens(stage_of(UNKNOWN)) == MAX_PARK_TOKENS
    assert park_tokens(stage_of(UNKNOWN, park_tokens=2_000_000)) == 2_000_000
