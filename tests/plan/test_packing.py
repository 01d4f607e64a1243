"""Waves that fit."""

from prober.domain.probe import Role
from prober.plan.course import Course
from prober.plan.packing import MAX_CROWD_TOKENS, MAX_WAVE_PROBES, MAX_WAVE_TOKENS, pack
from tests.support.scripted import exact_calibration, stage_of, target_of

VAST = target_of(context_tokens=4_000_000, prefill_pool_tokens=4_000_000)


def probes_of(*sizes: int):
    course = Course("x", stage_of(VAST))
    return [course.draft(Role.CHECK, course.checker(0), size) for size in sizes]


def test_packing_bounds_waves():
    """Waves hold two probes at most, 3M tokens at most, and an over-limit probe alone; order is kept."""
    probes = probes_of(1_000, 1_000, 2_000_000, 1_500_000, 1_000, 4_000_001, 1_000, 4_000_001, 4_000_001)
    waves = list(pack(probes, "test", exact_calibration()))
    assert [probe for wave in waves for probe in wave.probes] == probes
    assert [len(wave.probes) for wave in waves] == [2, 1, 2, 1, 1, 1, 1]
    for wave in waves:
        over = [probe.is_over_limit for probe in wave.probes]
        assert over == [True] or not any(over)
        assert any(over) or sum(probe.prompt.tokens for probe in wave.probes) <= MAX_WAVE_TOKENS


def test_many_short_probes_fit_one_wave():
    """A wave may hold as many as allowed, as long as they are short; over-limit ones stay alone even then."""
    waves = list(pack(probes_of(*[50_000] * 10, 4_000_001, 1_000), "test", exact_calibration(), most=8))
    assert [len(wave.probes) for wave in waves] == [8, 2, 1, 1]


def test_few_long_ones_may_be_longer_than_many():
    """Two probes may hold 3M tokens together; more than two hold 400,000 at most."""
    waves = list(pack(probes_of(*[300_000] * 3, *[150_000] * 3), "test", exact_calibration(), most=8))
    assert [len(wave.probes) for wave in waves] == [2, 2, 2]
    for wave in waves:
        tokens = sum(probe.prompt.tokens for probe in wave.probes)
        assert len(wave.probes) <= MAX_WAVE_PROBES or tokens <= MAX_CROWD_TOKENS


def test_prompts_planned_by_their_lines_are_weighed_too():
    """A prompt without a planned count still counts against the bound."""
    course = Course("x", stage_of(VAST))
    probes = [course.fact(Role.CHECK, course.checker(0), lines=10_000) for _ in range(4)]
    assert [len(wave.probes) for wave in pack(probes, "test", exact_calibration(), most=8)] == [2, 2]


def test_packing_nothing_gives_no_wave():
    """An empty wave is never yielded."""
    assert list(pack([], "test", exact_calibration())) == []
