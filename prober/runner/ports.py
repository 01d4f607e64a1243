"""What the runner needs from the world; adapters satisfy these structurally, `wiring` hands them over."""

import dataclasses
import datetime as dt
from collections.abc import Sequence
from typing import Protocol

from prober.domain.campaign import Run
from prober.domain.evidence import Judgement
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

    async def close_run(self, report: RunReport) -> None:
        """Store the verdict and end the run."""
        ...


class Telemetry(Protocol):
    """Metrics and logs. Must not raise."""

    def run_started(self, run: Run, estimate: Spending) -> None:
        """Publish that a run began."""
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

    def internal_error(self, component: str, error: BaseException) -> None:
        """Publish a fault of our own: component and exception class, never its text."""
        ...


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
