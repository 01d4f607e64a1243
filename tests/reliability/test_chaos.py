"""Plans of disturbances come from their seed."""

import collections

from reliability.chaos import Kind, plan

COUNTS = {Kind.KILL: 10, Kind.STOP: 7, Kind.CRASH: 2, Kind.CUT: 8}


def test_a_plan_is_its_seeds():
    """The same seed plans the same, another one something else; the counts hold."""
    one, same, other = (plan(COUNTS, seconds=500, replicas=3, lease_seconds=8, seed=seed) for seed in (1, 1, 2))

    assert one == same != other
    assert collections.Counter(step.kind for step in one) == COUNTS
    assert {step.victim for step in one} == {0, 1, 2}


def test_a_plan_fits_its_time_and_stops_outlast_leases():
    """Disturbances end with the time that there is; a stopped replica sleeps past its lease and the beat after it."""
    steps = plan(COUNTS, seconds=500, replicas=3, lease_seconds=8, seed=3)

    assert sum(step.pause + step.length for step in steps) <= 500.001
    assert all(step.length > 8 * 4 / 3 for step in steps if step.kind is Kind.STOP)
