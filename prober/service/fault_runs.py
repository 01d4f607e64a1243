"""Runs against labs with one fault, and against labs without: what is found, by its scenario, and named how."""

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from prober.domain.campaign import Trigger
from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Finding
from prober.domain.outcome import Outcome
from prober.domain.target import OverlongContract
from prober.domain.verdict import RunReport
from prober.lab.faults import FAULTS
from prober.lab.scenes import SCENES
from prober.plan.scenarios import SCENARIOS
from prober.service.lab_host import LabHost, lab_host
from prober.service.lab_run import LabRun, OpenLab, open_lab
from prober.telemetry.logs import Log

SUSPICIONS = 2
"""The right kind must stand among so many of a finding's suspected kinds."""

ACROSS_ROLLOUTS = frozenset({"rollout"})
"""Scenarios that compare with an earlier run: two runs, and the lab's processes are replaced between them."""

HEALTHY_SCENES = (
    "small-tiered",
    "gateway-caching",
    "gateway-lossy",
    "small-batched",
    "small-disaggregated",
    "small-speculative",
    "small-overcommitted",
    "small-truncating",
    "small-thinking",
)
"""Clusters without a fault, each with the machinery that some faults need, honest failings switched on."""

_TARGET: Mapping[str, Any] = {"shared": True, "hang_seconds": 4}
"""As where real customers are: a run ends at the first confirmed violation. Nothing in these labs takes so long."""

_LEAST_RATE, _MOST_RATE = 1e-5, 0.5
"""What `excluded_leak_rate` may be."""

_EAGER: Mapping[str, Any] = {"shared": False, "hang_seconds": 30}
"""A healthy lab shall have every chance to raise an alarm; and a busy machine is no hang."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FaultRun:
    """One scenario against one cluster with one fault, or with none but honest failings."""

    fault: str | None
    """Name in `lab.faults.FAULTS`; None: a healthy cluster."""
    scenario: str
    """Name in `plan.scenarios.SCENARIOS`."""
    scene: str
    """Name in `lab.scenes.SCENES`."""
    rate: float = 1.0
    seed: int = 0
    fixes: frozenset[str] = frozenset()
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Scenario settings of the configuration."""

    @property
    def kind(self) -> FaultKind | None:
        """Kind of the fault."""
        return None if self.fault is None else FaultKind(FAULTS[self.fault].KIND)

    @property
    def lab_run(self) -> LabRun:
        """What runs against which cluster; nothing of it tells the prober which fault is on."""
        return LabRun(
            scene=self.scene,
            scenarios=(self.scenario,),
            faults={} if self.fault is None else {self.fault: self.rate},
            fixes=self.fixes,
            seed=self._lab_seed,
            is_honest=self.fault is None,
            target={**(_EAGER if self.fault is None else _TARGET), **self._promises},
            settings=self.settings,
        )

    @property
    def _lab_seed(self) -> int:
        """Healthy labs draw differently for each scenario: failings shall not come in step with one another."""
        return self.seed if self.fault else self.seed * len(SCENARIOS) + list(SCENARIOS).index(self.scenario)

    @property
    def _promises(self) -> Mapping[str, Any]:
        """Target keys that say what the scene's operator says: truncation, reasoning.

        That an LLM reasons is told in every other run against healthy ones only, as not every operator knows it.
        """
        scene = SCENES[self.scene]
        promises: dict[str, Any] = {"overlong": OverlongContract.TRUNCATE.value} if scene.auto_truncate else {}
        if scene.honesty.reasoning_words and (self.fault is not None or self.seed % 2 == 0):
            promises["thinking"] = True
        return promises


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FaultSeen:
    """One such run with what it reported."""

    fault_run: FaultRun
    reports: tuple[RunReport, ...]
    """Two where the scenario compares across a rollout."""
    counters: Mapping[str, int]
    """The lab's own: honest failings and strikes of the fault."""
    wall_seconds: float

    @property
    def telling(self) -> Finding | None:
        """The weightiest finding that names the right kind first or second; None if there is none."""
        kind = self.fault_run.kind
        return next(
            (finding for finding in self.notable if kind is not None and kind in finding.kinds[:SUSPICIONS]), None
        )

    @property
    def notable(self) -> tuple[Finding, ...]:
        """Suspicions and violations, worst first."""
        found = [f for report in self.reports for f in report.findings if f.outcome.rank >= Outcome.SUSPECT.rank]
        return tuple(sorted(found, key=lambda finding: -finding.outcome.rank))

    @property
    def is_found(self) -> bool:
        """Something was suspected, and the right kind of fault stands first or second."""
        return self.telling is not None

    @property
    def outcome(self) -> Outcome:
        """The last run's verdict, or a worse one of the run before it."""
        return max((report.verdict.outcome for report in self.reports), key=lambda outcome: outcome.rank)

    @property
    def probes(self) -> int:
        """Probes sent, those of the calibration included."""
        return sum(report.verdict.probes for report in self.reports)

    @property
    def prompt_tokens(self) -> int:
        """Prompt tokens spent."""
        return sum(report.spent.prompt_tokens for report in self.reports)


def scenario_of(fault: str) -> str:
    """Name the scenario that provokes a fault: its own word, else the first one for its kind."""
    facts = FAULTS[fault]
    return facts.SCENARIO or next(
        name for name, scenario in SCENARIOS.items() if FaultKind(facts.KIND) in scenario.kinds
    )


def run_of(fault: str, scenario: str | None = None, *, rate: float = 1.0, seed: int = 0) -> FaultRun:
    """Plan the run of a fault by its own scenario, or by another one.

    Where it strikes now and then only, rounds go on until so rare a leak is found or excluded at 95 %.
    """
    settings = {} if rate >= 1.0 else {"excluded_leak_rate": min(max(rate, _LEAST_RATE), _MOST_RATE)}
    return FaultRun(
        fault=fault,
        scenario=scenario or scenario_of(fault),
        scene=FAULTS[fault].SCENE,
        rate=rate,
        seed=seed,
        settings=settings,
    )


def fault_runs(*, rate: float = 1.0, seed: int = 0, is_full: bool = False) -> Iterator[FaultRun]:
    """Each fault with its scenario, in the order of kinds; `is_full`: with every scenario."""
    for fault in FAULTS:
        for scenario in SCENARIOS if is_full else (scenario_of(fault),):
            yield run_of(fault, scenario, rate=rate, seed=seed)


def power_runs(runs: int, *, rate: float = 1.0) -> Iterator[FaultRun]:
    """So many runs of each kind at least, shared evenly by the kind's faults, each with fresh seeds; kinds in turn."""
    faults: dict[str, list[str]] = {}
    for name, fault in FAULTS.items():
        faults.setdefault(fault.KIND, []).append(name)
    for seed in range(runs):
        for names in faults.values():
            if seed < -(-runs // len(names)):
                yield from (run_of(name, rate=rate, seed=seed) for name in names)


def healthy_runs(*, seed: int = 0, settings: Mapping[str, Any] | None = None) -> Iterator[FaultRun]:
    """Each scenario against a healthy cluster, the scenes in turn."""
    for number, scenario in enumerate(SCENARIOS):
        scene = HEALTHY_SCENES[(number + seed) % len(HEALTHY_SCENES)]
        yield FaultRun(fault=None, scenario=scenario, scene=scene, seed=seed, settings=settings or {})


async def observe(fault_run: FaultRun, *, log: Log, host: LabHost | None = None) -> FaultSeen:
    """Run it over real sockets, with a database and key of its own.

    Raises:
        ProberError: as a run raises.
    """
    begun = time.monotonic()
    async with open_lab(fault_run.lab_run, log=log, host=host) as lab:
        reports = [await _run(lab)]
        if fault_run.scenario in ACROSS_ROLLOUTS:
            await lab.lab.rollout()
            reports.append(await _run(lab))
        counters = await lab.lab.counters()
    return FaultSeen(
        fault_run=fault_run,
        reports=tuple(reports),
        counters=counters,
        wall_seconds=time.monotonic() - begun,
    )


async def observe_all(planned: Iterable[FaultRun], *, log: Log, workers: int = 2) -> AsyncIterator[FaultSeen]:
    """Run all, so many at a time, each worker with a lab process of its own; yields them as they end.

    Raises:
        ProberError: as a run raises; the others are cancelled.
    """
    waiting = iter(planned)
    ended: asyncio.Queue[FaultSeen | None] = asyncio.Queue()

    async def work() -> None:
        async with lab_host() as host:
            for fault_run in waiting:
                ended.put_nowait(await observe(fault_run, log=log, host=host))

    working = [asyncio.create_task(work()) for _ in range(workers)]
    for each in working:
        each.add_done_callback(lambda _task: ended.put_nowait(None))
    try:
        for _ in working:
            while (seen := await ended.get()) is not None:
                yield seen
            for each in working:
                if each.done():
                    each.result()
    finally:
        for each in working:
            each.cancel()
        for each in working:
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await each


async def _run(lab: OpenLab) -> RunReport:
    return await lab.prober.run(lab.campaign, Trigger.MANUAL)
