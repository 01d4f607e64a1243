"""What the runner needs from the world; adapters satisfy these structurally, `wiring` hands them over."""

import dataclasses
import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Protocol

from prober.domain.budget import Reservation, Shortage
from prober.domain.campaign import Run
from prober.domain.evidence import Judgement
from prober.domain.excerpt import Excerpt, ExcerptBounds
from prober.domain.mark import AnswerMark
from prober.domain.observation import Observation
from prober.domain.probe import Probe, Wave
from prober.domain.prompt import Prompt
from prober.domain.verdict import RunReport, Spending


class Clock(Protocol):
    """Time, injected."""

    def now(self) -> dt.datetime:
        """Aware UTC date."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...


class Serials(Protocol):
    """Randomness, injected."""

    def draw(self) -> int:
        """Draw a fresh canary serial, uniform over 0..2**28-1."""
        ...


class Endpoint(Protocol):
    """Sends probes to one target."""

    async def send(self, probe: Probe, prompt: Prompt) -> Observation:
        """Send once, never retry, never raise for what the remote did."""
        ...


class Ledger(Protocol):
    """Remembers runs, canaries, judgements. Raises LedgerError only."""

    async def open_run(self, run: Run, estimate: Spending) -> None:
        """Store the run before its first probe."""
        ...

    async def remember(self, run: Run, planned: Sequence[tuple[Probe, Prompt]]) -> None:
        """Store the canaries of probes about to be sent; committed when it returns."""
        ...

    async def record(self, run: Run, judgement: Judgement) -> None:
        """Store what came back and what was concluded."""
        ...

    async def reference(self, run: Run) -> tuple[AnswerMark, ...]:
        """Reference answers kept of the latest earlier run against the same target, in their order; empty: none."""
        ...

    async def close_run(self, report: RunReport) -> None:
        """Store the verdict and end the run."""
        ...


class Telemetry(Protocol):
    """Metrics and logs. Must not raise."""

    def run_started(self, run: Run, estimate: Spending) -> None:
        """Publish that a run began."""
        ...

    def budget_short(self, run: Run, shortages: Sequence[Shortage]) -> None:
        """Publish, before the first wave, which caps the run's estimate would pass."""
        ...

    def wave_started(self, run: Run, wave: Wave, spent: Spending) -> None:
        """Publish that a wave goes out; `spent` is the run's spending before it."""
        ...

    def probe_judged(self, run: Run, judgement: Judgement, spent: Spending) -> None:
        """Publish one probe's judgement; `spent` is that probe's own spending."""
        ...

    def run_ended(self, report: RunReport) -> None:
        """Publish a verdict."""
        ...

    def database_awaited(self, run: Run, why: str, seconds: float) -> None:
        """Publish that the run stands still for its database: why, in our own words, and for how long yet at most."""
        ...

    def database_back(self, run: Run, seconds: float) -> None:
        """Publish that it goes on, and how long it stood still."""
        ...

    def internal_error(self, component: str, error: BaseException) -> None:
        """Publish a fault of our own: component and exception class, never its text."""
        ...


class Budget(Protocol):
    """What all runs together may spend on the run's target. Raises LedgerError only."""

    async def shortages(self, run: Run, wanted: Mapping[str, Spending]) -> tuple[Shortage, ...]:
        """Name the caps that spending so much, by tenant, would pass as things stand; nothing is counted."""
        ...

    async def reserve(self, run: Run, wanted: Mapping[str, Spending]) -> Reservation | tuple[Shortage, ...]:
        """Count what a wave can spend at most, by tenant, before it is sent; or count nothing and name the caps."""
        ...

    async def settle(self, reservation: Reservation, spent: Mapping[str, Spending]) -> None:
        """Count what was really spent instead."""
        ...


class Unlimited:
    """No budget but the run's own cap: the lab costs nothing. Satisfies `Budget`."""

    async def shortages(self, run: Run, wanted: Mapping[str, Spending]) -> tuple[Shortage, ...]:  # noqa: ARG002
        """Nothing is ever short."""
        return ()

    async def reserve(self, run: Run, wanted: Mapping[str, Spending]) -> Reservation | tuple[Shortage, ...]:  # noqa: ARG002
        """Grant everything."""
        return Reservation(target=run.campaign.target.name, hour=run.started_at, expenses={})

    async def settle(self, reservation: Reservation, spent: Mapping[str, Spending]) -> None:
        """Keep no book."""


class Vault(Protocol):
    """Keeps foreign text, encrypted. Raises LedgerError only."""

    @property
    def bounds(self) -> ExcerptBounds:
        """How much may be kept."""
        ...

    async def keep(self, run: Run, judgement: Judgement, excerpts: Sequence[Excerpt]) -> None:
        """Keep what a recorded answer holds of foreign text."""
        ...


class NoVault:
    """Keeps nothing: the lab's customers are made up. Satisfies `Vault`."""

    bounds = ExcerptBounds()

    async def keep(self, run: Run, judgement: Judgement, excerpts: Sequence[Excerpt]) -> None:
        """Drop it."""


class StopSwitch(Protocol):
    """The global stop switch: ends all probing at the next wave."""

    def is_set(self) -> bool:
        """True once probing must end."""
        ...


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The world, as one value."""

    endpoint: Endpoint
    ledger: Ledger
    telemetry: Telemetry
    clock: Clock
    serials: Serials
    stop: StopSwitch
    budget: Budget = dataclasses.field(default_factory=Unlimited)
    vault: Vault = dataclasses.field(default_factory=NoVault)
