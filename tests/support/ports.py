"""The runner's ports, faked: everything that passes them is written into one journal, in its order."""

import asyncio
import dataclasses
import datetime as dt
import inspect
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any

import pytest

from prober.domain.budget import Shortage
from prober.domain.campaign import Campaign, Run, ScenarioSettings, Trigger
from prober.domain.errors import LeaseLostError, LedgerError
from prober.domain.evidence import Judgement, WaveEvidence
from prober.domain.observation import Observation
from prober.domain.probe import Expectation, Probe, PromptSpec, Role, Wave
from prober.domain.prompt import Prompt
from prober.domain.target import Target
from prober.domain.tenant import Tenant
from prober.domain.verdict import RunReport, Spending
from prober.plan.scenarios import SCENARIOS
from prober.plan.stage import Stage
from prober.prompt.keyring import Keyring
from prober.runner.live_probes import LiveProbes
from prober.runner.ports import Ports
from prober.runner.reception import Instruments
from prober.runner.run import execute
from tests.support.fake_llm import FakeLlm
from tests.support.ledger import MemoryLedger, SettableClock

KEYRING = Keyring.create(bytes(range(32)))
TENANTS = (Tenant(name="alpha", number=1), Tenant(name="bravo", number=2))

Journal = list[tuple[str, str]]
"""What happened, and to which probe or in which part."""

Respond = Callable[[Probe, Prompt], Observation | Awaitable[Observation]]


def small_run(*scenarios: str, **changes: Any) -> Run:  # noqa: ANN401 - fields of Campaign
    """A run against a target of the fake LLM's sizes."""
    target = Target(
        name="small", model="llm", dialect="openai-chat", context_tokens=20_000, prefill_pool_tokens=9_984, shared=False
    )
    settings = ScenarioSettings(
        baseline_tokens=2_000,
        baseline_probes=1,
        anchor_probes=1,
        seed_tokens=3_000,
        donor_tokens=1_500,
        over_limit_probes=2,
    )
    campaign = Campaign(
        target=dataclasses.replace(target, **changes.pop("target", {})),
        tenants=TENANTS,
        scenarios=scenarios or ("baseline",),
        settings=dataclasses.replace(settings, **changes.pop("settings", {})),
        **changes,
    )
    started_at = dt.datetime(2026, 9, 1, 12, tzinfo=dt.UTC)
    return Run(run_id="run-1", campaign=campaign, trigger=Trigger.MANUAL, started_at=started_at)


class ScriptedEndpoint:
    """Answers as its script says. `texts` holds what was sent."""

    def __init__(self, journal: Journal, respond: Respond) -> None:
        self.journal = journal
        self.respond = respond
        self.texts: list[str] = []
        self.in_flight = 0

    async def send(self, probe: Probe, prompt: Prompt) -> Observation:
        self.journal.append(("send", probe.label))
        self.texts.append(prompt.text)
        self.in_flight += 1
        try:
            observation = self.respond(probe, prompt)
            return await observation if inspect.isawaitable(observation) else observation
        finally:
            self.in_flight -= 1


class JournalledLedger(MemoryLedger):
    """A ledger in memory that fails at a chosen call."""

    def __init__(self, journal: Journal, fails_at: str = "") -> None:
        super().__init__(SettableClock())
        self.journal = journal
        self.fails_at = fails_at
        """Name of a method, `remember:LABEL` or `record:LABEL`."""
        self.lost_at = ""
        """Likewise: from there on the run's job is another replica's."""
        self._is_lost = False

    async def open_run(self, run: Run, estimate: Spending) -> None:
        self._enter("open_run", "")
        await super().open_run(run, estimate)

    async def remember(self, run: Run, planned: Sequence[tuple[Probe, Prompt]]) -> None:
        for probe, _ in planned:
            self._enter("remember", probe.label)
        # Another task may run while a database commits.
        await asyncio.sleep(0)
        await super().remember(run, planned)

    async def record(self, run: Run, judgement: Judgement) -> None:
        self._enter("record", judgement.evidence.probe.label)
        await super().record(run, judgement)

    async def close_run(self, report: RunReport) -> None:
        self._enter("close_run", "")
        await super().close_run(report)

    def _enter(self, method: str, label: str) -> None:
        self.journal.append((method, label))
        if self.fails_at in {method, f"{method}:{label}"}:
            raise LedgerError("The database failed.")
        self._is_lost |= self.lost_at in {method, f"{method}:{label}"}
        if self._is_lost:
            raise LeaseLostError("The job is another's.")


class RecordingTelemetry:
    """Keeps what it is told."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.errors: list[tuple[str, BaseException]] = []
        self.shortages: list[Shortage] = []
        self.spent: list[Spending] = []
        self.judgements: list[Judgement] = []
        self.reports: list[RunReport] = []

    def run_started(self, run: Run, estimate: Spending) -> None:
        self.journal.append(("run_started", ""))

    def budget_short(self, run: Run, shortages: Sequence[Shortage]) -> None:
        self.journal.append(("budget_short", ""))
        self.shortages.extend(shortages)

    def wave_started(self, run: Run, wave: Wave, spent: Spending) -> None:
        self.journal.append(("wave_started", wave.purpose))

    def probe_judged(self, run: Run, judgement: Judgement, spent: Spending) -> None:
        self.journal.append(("probe_judged", judgement.evidence.probe.label))
        self.judgements.append(judgement)
        self.spent.append(spent)

    def run_ended(self, report: RunReport) -> None:
        self.journal.append(("run_ended", ""))
        self.reports.append(report)

    def database_awaited(self, run: Run, why: str, seconds: float) -> None:
        self.journal.append(("database_awaited", why))

    def database_back(self, run: Run, seconds: float) -> None:
        self.journal.append(("database_back", ""))

    def internal_error(self, component: str, error: BaseException) -> None:
        self.errors.append((component, error))


class CountingSerials:
    """Serials 1, 2, 3, or as given."""

    def __init__(self, *given: int) -> None:
        self.given = list(given)
        self.drawn = 0

    def draw(self) -> int:
        self.drawn += 1
        return self.given.pop(0) if self.given else 1_000 + self.drawn


class ManualSwitch:
    """A stop switch."""

    def __init__(self) -> None:
        self.is_thrown = False

    def is_set(self) -> bool:
        return self.is_thrown


class World:
    """All ports around one journal, and the instruments to run with."""

    def __init__(self, respond: Respond | None = None, *, fails_at: str = "") -> None:
        self.llm = FakeLlm()
        self.journal: Journal = []
        self.endpoint = ScriptedEndpoint(self.journal, respond or self.llm.observe)
        self.ledger = JournalledLedger(self.journal, fails_at)
        self.telemetry = RecordingTelemetry(self.journal)
        self.serials = CountingSerials()
        self.stop = ManualSwitch()
        self.instruments = Instruments(KEYRING, LiveProbes(KEYRING))

    @property
    def ports(self) -> Ports:
        return Ports(
            endpoint=self.endpoint,
            ledger=self.ledger,
            telemetry=self.telemetry,
            clock=self.ledger.clock,
            serials=self.serials,
            stop=self.stop,
        )

    def labels(self, event: str) -> list[str]:
        """To which probes something happened, in order."""
        return [label for what, label in self.journal if what == event]


async def run_in(world: World, *scenarios: str, **changes: object) -> RunReport:
    """Run scenarios in a world; other arguments are as for `small_run`."""
    return await execute(small_run(*scenarios, **changes), world.instruments, world.ports)


class RecordedScenario:
    """Registers itself under a name; remembers whether its generator was closed."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, waves: int = 1, role: Role = Role.CHECK, size: int = 500
    ) -> None:
        self.waves = waves
        self.role = role
        self.size = size
        self.evidence: list[WaveEvidence] = []
        self.stages: list[Stage] = []
        self.is_closed = False
        self.shortfalls: tuple[str, ...] = ()
        monkeypatch.setitem(SCENARIOS, "recorded", self.play)
        # Rehearsing would play it as well.
        monkeypatch.setattr("prober.runner.run.estimates", lambda _campaign: {"alpha": Spending(requests=1)})

    def play(self, stage: Stage) -> Generator[Wave, WaveEvidence, tuple[str, ...]]:
        self.stages.append(stage)
        try:
            for number in range(1, self.waves + 1):
                self.evidence.append((yield Wave(probes=(self.probe(stage, number),), purpose="see")))
        finally:
            self.is_closed = True
        return self.shortfalls

    def probe(self, stage: Stage, number: int) -> Probe:
        return Probe(
            label=f"recorded/{number:04d}",
            scenario="recorded",
            tenant=stage.tenants[number % 2],
            role=self.role,
            prompt=PromptSpec(tokens=self.size),
            expectation=Expectation.SERVE,
        )
