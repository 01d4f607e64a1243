"""When a fault strikes."""

import collections

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.lab.dice import Dice, counter_name


def dice_of(rate: float, seed: int = 0) -> tuple[Dice, collections.Counter[str]]:
    counters: collections.Counter[str] = collections.Counter()
    return Dice({"load_race": rate}, seed, counters), counters


@given(seed=st.integers(0, 2**32), subject=st.integers() | st.text(max_size=9), rate=st.floats(0.001, 0.999))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_the_same_seed_fault_and_subject_give_the_same_answer(seed: int, subject: object, rate: float):
    """A run can be repeated, in whatever order its subjects come: draws do not depend on earlier ones."""
    asked, again = dice_of(rate, seed)[0], dice_of(rate, seed)[0]
    again.strikes("load_race", "somebody else")

    assert asked.strikes("load_race", subject) is again.strikes("load_race", subject)


@pytest.mark.parametrize("rate", [0.3, 0.01])
def test_faults_strike_as_often_as_their_rate_says(rate: float):
    """Of 20,000 subjects a share within five standard deviations of the rate is hit, and each hit is counted."""
    dice, counters = dice_of(rate)
    hits = sum(dice.strikes("load_race", number) for number in range(20_000))

    assert abs(hits - 20_000 * rate) <= 5 * (20_000 * rate * (1 - rate)) ** 0.5
    assert counters == {counter_name("load_race"): hits}


def test_certain_faults_always_strike_and_absent_ones_never():
    """Rate 1 leaves nothing to chance; a fault that is not built in is asked too, and does not strike."""
    dice, counters = dice_of(1.0)

    assert all(dice.strikes("load_race", number) for number in range(100))
    assert not any(dice.strikes("store_race", number) for number in range(100))
    assert (counters["fault_load_race"], counters["fault_store_race"]) == (100, 0)


def test_a_fault_that_never_struck_is_counted_as_such():
    """Records tell a fault that waits for its trigger from one that is not built in."""
    assert dice_of(0.5)[1] == {"fault_load_race": 0}


def test_seeds_differ():
    """Sixty seeds are sixty different clusters."""
    patterns = {tuple(dice_of(0.5, seed)[0].strikes("load_race", n) for n in range(40)) for seed in range(60)}

    assert len(patterns) == 60
