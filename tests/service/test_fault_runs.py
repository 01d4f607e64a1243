"""What is run for each fault, and when it counts as found."""

import asyncio
import collections
import contextlib
from collections.abc import AsyncIterator

import pytest

from prober.domain.errors import LabError
from prober.domain.fault_kind import FaultKind
from prober.domain.outcome import Outcome
from prober.lab.faults import FAULTS
from prober.lab.scenes import SCENES
from prober.plan.scenarios import SCENARIOS
from prober.service.fault_runs import (
    HEALTHY_SCENES,
    FaultRun,
    FaultSeen,
    fault_runs,
    healthy_runs,
    observe_all,
    power_runs,
    run_of,
    scenario_of,
)
from tests.support.fault_runs import K1, named, reported, seen, served

K2, K5 = FaultKind.LIVE_WRITER, FaultKind.HANDOFF_MIX_UP
LOG = object()
"""Nothing of it is asked by a faked run."""


# --- found --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("findings", "is_found"),
    [
        ((), False),
        ((named(K1),), True),
        ((named(K2, K1),), True),
        ((named(K2, K5, K1),), False),
        ((named(K2), named(K5, K1)), True),
        ((named(),), False),
        ((named(K1, outcome=Outcome.INCONCLUSIVE),), False),
        ((named(K1, outcome=Outcome.CLEAN),), False),
        ((named(K1, outcome=Outcome.VIOLATION),), True),
    ],
)
def test_a_fault_is_found_when_a_suspicion_names_its_kind_first_or_second(findings: tuple, *, is_found: bool):
    """The right kind in third place, or at something that could not be judged, is no discovery."""
    assert seen("stub_handoff", reported(Outcome.SUSPECT, *findings)).is_found is is_found


def test_the_telling_finding_is_the_weightiest_that_names_the_kind():
    """A violation comes before a suspicion, and one that names another kind tells nothing."""
    weak, strong = named(K1), named(K5, K1, outcome=Outcome.VIOLATION)
    other = named(K2, outcome=Outcome.VIOLATION)
    run = seen("stub_handoff", reported(Outcome.VIOLATION, served(), weak, other, strong))

    assert run.telling is strong
    assert run.notable == (other, strong, weak)


def test_two_runs_across_a_rollout_count_as_one():
    """Findings, verdict and cost are those of both."""
    first, second = reported(Outcome.SUSPECT, named(K5)), reported(Outcome.CLEAN, probes=7, tokens=500)
    run = seen("warm_store", first, second)

    assert run.outcome is Outcome.SUSPECT
    assert (run.probes, run.prompt_tokens) == (17, 1_500)
    assert len(run.notable) == 1
    assert not run.is_found


def test_nothing_is_found_in_a_healthy_lab():
    """Without a fault there is no right kind, whatever a finding names."""
    run = FaultRun(fault=None, scenario="baseline", scene="small")

    assert run.kind is None
    assert not seen(run, reported(Outcome.SUSPECT, named(K1))).is_found


# --- what is run --------------------------------------------------------------------------------------------------


def test_each_fault_is_run_by_its_scenario_in_its_scene():
    """One run per fault, in the registry's order, at the rate and seed that were asked for."""
    runs = list(fault_runs(rate=0.5, seed=3))

    assert [run.fault for run in runs] == list(FAULTS)
    for run in runs:
        assert (run.scenario, run.scene) == (scenario_of(run.fault), FAULTS[run.fault].SCENE)
        assert run.lab_run.faults == {run.fault: 0.5}
        assert (run.lab_run.seed, run.lab_run.is_honest) == (3, False)
        assert run.kind is FaultKind(FAULTS[run.fault].KIND)


def test_a_kinds_runs_are_shared_by_its_faults_and_no_seed_comes_twice():
    """At least so many of each kind, as evenly as faults allow."""
    runs = list(power_runs(7))
    per_fault = collections.Counter(run.fault for run in runs)
    per_kind = collections.Counter(run.kind for run in runs)

    assert len({(run.fault, run.seed) for run in runs}) == len(runs)
    assert set(per_kind) == set(FaultKind)
    assert all(count >= 7 for count in per_kind.values())
    assert (per_fault["stub_handoff"], per_fault["shared_prefixes"], per_fault["stolen_token"]) == (4, 7, 3)


@pytest.mark.parametrize(("rate", "excluded"), [(1.0, None), (0.9, 0.5), (0.01, 0.01), (1e-6, 1e-5)])
def test_a_rare_fault_is_looked_for_until_its_rate_is_excluded(rate: float, excluded: float | None):
    """The fixed number of rounds would be over before it strikes; what the configuration allows bounds the rate."""
    assert run_of("stub_handoff", rate=rate).settings.get("excluded_leak_rate") == excluded


def test_in_full_each_fault_is_run_by_every_scenario():
    """The whole table: what else sees a fault shows there."""
    runs = list(fault_runs(is_full=True))

    assert [(run.fault, run.scenario) for run in runs] == [(fault, name) for fault in FAULTS for name in SCENARIOS]


def test_nothing_tells_the_prober_which_fault_is_on():
    """What a run gives the target and the scenarios is the same for all faults, but for what the LLM itself is like."""
    given = set()
    for run in (run for seed in range(2) for run in fault_runs(seed=seed)):
        target = dict(run.lab_run.target)
        assert target.pop("thinking", False) is (SCENES[run.scene].honesty.reasoning_words > 0)
        given.add((str(target), str(run.lab_run.settings)))

    assert len(given) == 1


def test_a_scenario_can_be_chosen_against_the_faults_own():
    """A table of a fault by another scenario says how well that one would do."""
    assert run_of("stub_handoff", "replay").scenario == "replay"
    assert run_of("length_for_abort").scenario == "provoked_refusals"


def test_healthy_labs_are_probed_by_every_scenario_and_in_turn_on_every_scene():
    """After as many seeds as there are scenes each scenario has met each of them, honest failings switched on."""
    runs = [run for seed in range(len(HEALTHY_SCENES)) for run in healthy_runs(seed=seed, settings={"rounds": 2})]

    met = {(run.scenario, run.scene) for run in runs}

    assert met == {(name, scene) for name in SCENARIOS for scene in HEALTHY_SCENES}
    assert set(HEALTHY_SCENES) <= set(SCENES)
    assert all(run.lab_run.is_honest and not run.lab_run.faults for run in runs)
    assert all(run.lab_run.settings == {"rounds": 2} for run in runs)


# --- many at a time -----------------------------------------------------------------------------------------------


class Labs:
    """Labs that only say what becomes of them; `delays` are turns of the event loop per run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, delays: list[int], *, fails: int | None = None) -> None:
        self.delays = delays
        self.fails = fails
        self.hosts = self.open_hosts = 0
        self.at_once = self.most_at_once = 0
        self.cancelled: list[int] = []
        monkeypatch.setattr("prober.service.fault_runs.lab_host", self.host)
        monkeypatch.setattr("prober.service.fault_runs.observe", self.observe)

    @contextlib.asynccontextmanager
    async def host(self) -> AsyncIterator[int]:
        self.hosts += 1
        self.open_hosts += 1
        try:
            yield self.hosts
        finally:
            self.open_hosts -= 1

    async def observe(self, fault_run: FaultRun, *, log: object, host: object) -> FaultSeen:
        assert log is LOG
        assert host
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            for _turn in range(self.delays[fault_run.seed]):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled.append(fault_run.seed)
            raise
        finally:
            self.at_once -= 1
        if fault_run.seed == self.fails:
            raise LabError("the lab would not start")
        return seen(fault_run)


def planned(count: int) -> list[FaultRun]:
    return [run_of("stub_handoff", seed=seed) for seed in range(count)]


async def seeds_of(labs: Labs, *, workers: int) -> list[int]:
    """Seeds in the order in which their runs ended; a hang fails the test."""
    async with asyncio.timeout(10):
        return [
            each.fault_run.seed
            async for each in observe_all(planned(len(labs.delays)), log=LOG, workers=workers)  # type: ignore[arg-type]
        ]


async def test_runs_are_yielded_as_they_end(monkeypatch: pytest.MonkeyPatch):
    """A long run holds nobody up; every run comes once."""
    labs = Labs(monkeypatch, [500, 5, 5, 5, 5])

    assert await seeds_of(labs, workers=2) == [1, 2, 3, 4, 0]
    assert labs.most_at_once == 2


@pytest.mark.parametrize("workers", [1, 3])
async def test_so_many_run_at_a_time_each_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch, workers: int):
    """One lab process per worker, closed at the end; with one worker runs keep their order."""
    labs = Labs(monkeypatch, [9, 1, 9, 1, 9])
    seeds = await seeds_of(labs, workers=workers)

    assert sorted(seeds) == list(range(5))
    assert (labs.hosts, labs.open_hosts, labs.most_at_once) == (workers, 0, workers)
    if workers == 1:
        assert seeds == list(range(5))


async def test_more_workers_than_runs_is_no_hang(monkeypatch: pytest.MonkeyPatch):
    """Whoever finds nothing to do ends; with nothing planned at all, everybody does."""
    assert await seeds_of(Labs(monkeypatch, [1]), workers=4) == [0]
    assert await seeds_of(Labs(monkeypatch, []), workers=4) == []


async def test_a_run_that_raises_ends_the_others(monkeypatch: pytest.MonkeyPatch):
    """Our own fault is told, and no process stays behind; what ended before is not lost."""
    labs = Labs(monkeypatch, [1, 20, 10**6, 1], fails=1)
    ended: list[int] = []

    async def hear() -> None:
        async for each in observe_all(planned(4), log=LOG, workers=3):  # type: ignore[arg-type]
            ended.append(each.fault_run.seed)  # noqa: PERF401 - what was yielded before it raises

    with pytest.raises(LabError, match="would not start"):
        await asyncio.wait_for(hear(), 10)

    assert sorted(ended) == [0, 3]
    assert labs.cancelled == [2]
    assert labs.open_hosts == 0


async def test_whoever_stops_listening_stops_the_runs(monkeypatch: pytest.MonkeyPatch):
    """An interrupted self-test cancels what is under way and closes its processes."""
    labs = Labs(monkeypatch, [1, 10**6])
    async with asyncio.timeout(10), contextlib.aclosing(observe_all(planned(2), log=LOG, workers=2)) as ending:  # type: ignore[type-var, arg-type]
        assert (await anext(ending)).fault_run.seed == 0

    assert labs.cancelled == [1]
    assert labs.open_hosts == 0
