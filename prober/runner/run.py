"""THE main path: campaign -> calibrate -> scenarios yield waves -> verdict."""

import asyncio
from collections.abc import Generator
from typing import TypeVar

from prober.domain.campaign import Run
from prober.domain.errors import LedgerError
from prober.domain.evidence import WaveEvidence
from prober.domain.finding import Reason
from prober.domain.probe import Role, Wave
from prober.domain.verdict import RunReport
from prober.plan.calibrate import calibrate
from prober.plan.rehearsal import estimate
from prober.plan.scenarios import SCENARIOS
from prober.plan.stage import Stage
from prober.prompt.tokens import Calibration
from prober.runner.book import RunBook, why_uncalibrated
from prober.runner.ports import Ports
from prober.runner.wave import Instruments, compose_wave, send_wave, wave_cost

Returned = TypeVar("Returned")

COMPONENT = "runner"
"""Name under which a fault of the run itself is reported."""

MAX_RECALIBRATIONS = 3
"""Replicas behind one name may differ for ever; beyond this, length targeting is not to be trusted in this run."""


class _Halt(Exception):  # noqa: N818 - no error: the run ends early, for a reason already in its book
    """Ends a run early."""


async def execute(run: Run, instruments: Instruments, ports: Ports) -> RunReport:
    """Run a campaign to its verdict.

    Cancelling it closes the run as INCONCLUSIVE in the ledger, then lets the cancellation go on; so does a fault of our
    own, which is raised again.

    Raises:
        LedgerError: the database failed; nothing is sent that was not remembered.
    """
    book = RunBook(run=run, estimate=estimate(run.campaign))
    await ports.ledger.open_run(run, book.estimate)
    ports.telemetry.run_started(run, book.estimate)
    try:
        await _Performance(book, instruments, ports).play()
    except _Halt:
        pass
    except asyncio.CancelledError:
        book.note(Reason.INTERRUPTED, "The run was interrupted before it was finished.")
        await asyncio.shield(_close_broken(book, ports))
        raise
    except Exception as error:
        ports.telemetry.internal_error(COMPONENT, error)
        message = f"The prober itself failed ({type(error).__name__}): what it had not judged is not known."
        book.note(Reason.INTERNAL_ERROR, message)
        await _close_broken(book, ports)
        raise
    return await _close(book, ports)


async def _close(book: RunBook, ports: Ports) -> RunReport:
    report = book.report(ports.clock.now())
    try:
        await ports.ledger.close_run(report)
    finally:
        ports.telemetry.run_ended(report)
    return report


async def _close_broken(book: RunBook, ports: Ports) -> None:
    """Close a run that ends by an exception; a ledger that fails as well must not hide that one."""
    try:
        await _close(book, ports)
    except LedgerError as error:
        ports.telemetry.internal_error(COMPONENT, error)


class _Performance:
    """One run in progress: drives generators, one after the other."""

    def __init__(self, book: RunBook, instruments: Instruments, ports: Ports) -> None:
        self.book = book
        self.instruments = instruments
        self.ports = ports
        self.calibration: Calibration | None = None
        self.recalibrations = 0

    async def play(self) -> None:
        """Calibrate, then every scenario of the campaign in its order."""
        campaign = self.book.run.campaign
        self.calibration = await self._calibrate()
        for name in campaign.scenarios:
            self._stop_where_shared(upcoming=None)
            await self._recalibrate_if_changed()
            stage = Stage(
                target=campaign.target,
                tenants=campaign.tenants,
                settings=campaign.settings,
                calibration=self.calibration,
            )
            for shortfall in await self._drive(SCENARIOS[name](stage)):
                self.book.note(Reason.TOO_FEW_SAMPLES, shortfall)

    async def _calibrate(self) -> Calibration:
        campaign = self.book.run.campaign
        attempt = self.recalibrations + 1
        calibration = await self._drive(calibrate(campaign.target, campaign.tenants[0], attempt))
        if calibration is None:
            why = why_uncalibrated(self.book.judgements[-1])
            self.book.note(
                Reason.CALIBRATION_FAILED, f"No prompt length can be aimed at, since token counts are not known: {why}"
            )
            raise _Halt
        return calibration

    async def _drive(self, scenario: Generator[Wave, WaveEvidence, Returned]) -> Returned:
        """Play one generator's waves to its end and return what it returns."""
        try:
            wave = next(scenario)
            while True:
                wave = scenario.send(await self._play_wave(wave))
                self._stop_where_shared(upcoming=wave)
                await self._recalibrate_if_changed()
        except StopIteration as end:
            returned: Returned = end.value
            return returned
        finally:
            scenario.close()

    async def _play_wave(self, wave: Wave) -> WaveEvidence:
        book, ports = self.book, self.ports
        if ports.stop.is_set():
            book.note(Reason.INTERRUPTED, "The global stop switch ended the run.")
            raise _Halt
        planned = await compose_wave(wave, self.instruments, self.calibration, ports)
        cap = book.run.campaign.max_run_tokens
        if book.spent.tokens + wave_cost(planned).tokens > cap:
            book.note(
                Reason.BUDGET_EXHAUSTED,
                f"To {wave.purpose} would pass the run's cap of {cap:,} tokens; {book.spent.tokens:,} are spent.",
            )
            raise _Halt
        ports.telemetry.wave_started(book.run, wave, book.spent)
        return await send_wave(planned, book, self.instruments, ports)

    def _stop_where_shared(self, upcoming: Wave | None) -> None:
        """Where real customers share the target, one confirmed violation is enough: do not harvest."""
        if not (self.book.run.campaign.target.shared and self.book.has_confirmed_violation):
            return
        if upcoming is None or any(probe.role is not Role.CONFIRMATION for probe in upcoming.probes):
            raise _Halt

    async def _recalibrate_if_changed(self) -> None:
        """Token counts belong to one LLM and template; measure again when the target names another one."""
        models = self.book.history.models_reported
        if self.calibration is None or not models or self.calibration.matches(models[-1]):
            return
        if self.recalibrations == MAX_RECALIBRATIONS:
            self.book.note(Reason.CALIBRATION_FAILED, "The target keeps changing the LLM it names.")
            raise _Halt
        self.recalibrations += 1
        self.calibration = None
        self.calibration = await self._calibrate()
