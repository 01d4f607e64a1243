"""When the silence of a marathon counts."""

import dataclasses

import pytest

from prober.lab.scenes import SCENES, with_honest_failings
from prober.lab.server import LabServer
from prober.plan.scenarios import SCENARIOS
from prober.service.fault_runs import HEALTHY_SCENES, FaultSeen
from prober.service.fault_tallies import HealthyTally, tally_healthy
from prober.service.marathon import (
    HONEST_FAILINGS,
    LEAST_FIRED,
    LEAST_PROBES,
    LEAST_PROBES_PER_SCENARIO,
    in_rounds,
    marathon_runs,
    shortfalls,
)
from tests.support.fault_runs import reported, seen

FIRED = dict.fromkeys(HONEST_FAILINGS, LEAST_FIRED)


def rows(probes: int = 2_000, **others: int) -> list[HealthyTally]:
    """One row per scenario."""
    row = HealthyTally(scenario="", runs=1, probes=probes, violations=0, suspicions=0, reasons=(), wall_seconds=1.0)
    return [dataclasses.replace(row, scenario=name, probes=others.get(name, probes)) for name in SCENARIOS]


def test_a_marathon_that_reached_everything_counts():
    """Enough probes in all and in each scenario, and each failing often enough: nothing is missing."""
    assert shortfalls(rows(), FIRED) == []


@pytest.mark.parametrize("scenario", ["baseline", "replay"])
def test_a_scenario_that_sent_too_little_is_named(scenario: str):
    """A thousand probes in each scenario, not on average."""
    assert shortfalls(rows(**{scenario: LEAST_PROBES_PER_SCENARIO}), FIRED) == []
    assert shortfalls(rows(**{scenario: LEAST_PROBES_PER_SCENARIO - 1}), FIRED) == [
        f"{scenario} sent only 999 of 1,000 probes"
    ]


def test_a_scenario_that_never_ran_is_missing_too():
    """Nothing sent is too little."""
    without = [row for row in rows() if row.scenario != "drift"]
    assert shortfalls(without, FIRED) == ["drift sent only 0 of 1,000 probes"]


def test_all_scenarios_together_must_have_sent_enough():
    """The bound of all is above that of each."""
    few = LEAST_PROBES // len(SCENARIOS) - 1
    assert few >= LEAST_PROBES_PER_SCENARIO
    assert shortfalls(rows(few), FIRED) == [f"only {few * len(SCENARIOS):,} of 20,000 probes"]


@pytest.mark.parametrize("failing", HONEST_FAILINGS)
def test_a_failing_that_came_up_too_seldom_is_named(failing: str):
    """A detector is not acquitted of what it never met."""
    assert shortfalls(rows(), FIRED | {failing: 49}) == [f"{failing} came up only 49 of 50 times"]
    absent = {name: count for name, count in FIRED.items() if name != failing}
    assert shortfalls(rows(), absent) == [f"{failing} came up only 0 of 50 times"]


async def test_the_lab_counts_every_failing():
    """Each name is a counter that a lab shows from the start, so that a misspelt one cannot stay at 0 unnoticed."""
    async with LabServer(with_honest_failings(SCENES["gateway-lossy"])) as lab:
        assert set(HONEST_FAILINGS) <= set(lab.counters())


def test_healthy_scenes_can_breed_every_failing():
    """Prefix cache, tiers, truncation, reasoning, a second group: each failing has a scene that it needs."""
    scenes = [with_honest_failings(SCENES[name], seed) for seed, name in enumerate(HEALTHY_SCENES)]
    assert any(scene.prefix_cache and scene.host_tokens for scene in scenes)
    assert any(scene.auto_truncate for scene in scenes)
    assert any(scene.honesty.reasoning_words for scene in scenes)
    assert any(scene.gateway.falls_back and scene.other_groups for scene in scenes)


def played(probes: int, fired: int, *, seeds: int = 500) -> list[FaultSeen]:
    """All runs of a marathon in which each run sends so many probes and meets each failing so often."""
    seen_so_far: list[FaultSeen] = []
    counters = dict.fromkeys(HONEST_FAILINGS, fired)
    for run in marathon_runs(seen_so_far, seeds=seeds, settings=in_rounds(4)):
        seen_so_far.append(seen(run, reported(probes=probes), counters=counters))  # noqa: PERF401 - it is looked at meanwhile
    return seen_so_far


def test_a_marathon_goes_on_until_nothing_is_missing():
    """Each scenario to its thousand, then all of them until the probes of all are enough; not a run more."""
    rows = tally_healthy(played(probes=100, fired=1))

    assert {row.scenario for row in rows} == set(SCENARIOS)
    assert all(row.probes >= LEAST_PROBES_PER_SCENARIO for row in rows)
    assert sum(row.probes for row in rows) == LEAST_PROBES


def test_a_marathon_goes_on_for_a_rare_failing():
    """Probes were enough, failings were not: 50 runs bring what one in each brings once."""
    enough = played(probes=2_000, fired=1)

    assert len(enough) == LEAST_FIRED


def test_a_marathon_ends_with_its_seeds():
    """What cannot come up does not keep it running for ever; what is missing is told then."""
    runs = played(probes=2_000, fired=0, seeds=5)

    assert len(runs) == 5 * len(SCENARIOS)
    assert len({(each.fault_run.scenario, each.fault_run.seed) for each in runs}) == len(runs)
