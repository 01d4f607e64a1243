"""THE main path: campaign -> calibrate -> scenarios yield waves -> verdict."""

import asyncio
import contextlib
import dataclasses
from collections.abc import Generator, Mapping, Sequence
from typing import NoReturn, TypeVar

from prober.detect.history import beginning
from prober.domain.campaign import Run
from prober.domain.errors import LeaseLostError, LedgerError
from prober.domain.evidence import WaveEvidence
from prober.domain.finding import Finding, Reason
from prober.domain.mark import AnswerMark
from prober.domain.probe import Role, Wave
from prober.domain.verdict import RunReport, Spending
from prober.plan.calibrate import calibrate
from prober.plan.rehearsal import estimates
from prober.plan.scenarios import SCENARIOS
from prober.plan.stage import Curtailed, Stage
from prober.prompt.tokens import Calibration
from prober.runner.book import RunBook, costs_of, why_uncalibrated
from prober.runner.ports import Ports
from prober.runner.reception import Instruments
from prober.runner.uncut import COMPONENT, uncut
from prober.runner.wave import compose_wave, send_wave, wave_costs

Returned = TypeVar("Returned")

LAST_SECONDS = 1.0
"""What a run that was cancelled twice gets to close itself."""

MAX_RECALIBRATIONS = 3
"""Replicas behind one name may differ for ever; beyond this, length targeting is not to be trusted in this run."""


class _Halt(Exception):  # noqa: N818 - no error: the run ends early, for a reason already in its book
    """Ends a run early."""


async def execute(run: Run, instruments: Instruments, ports: Ports, doubts: Sequence[Finding] = ()) -> RunReport:
    """Run a campaign to its verdict; `doubts` are findings about the run as a whole that are known before it begins.

    Cancelling it ends all sending at once, records what has come back, closes the run as INCONCLUSIVE in the ledger,
    then lets the cancellation go on; so does a fault of our own, which is raised again. A ledger may wait for its
    database meanwhile; cancelling a second time gives that up.

    Raises:
        LedgerError: the database failed; nothing is sent that was not remembered. LeaseLostError where the job that it
            runs under is another replica's by now, which is no fault of ours.
    """
    expected = estimates(run.campaign)
    book = RunBook(run=run, estimate=sum(expected.values(), Spending()), run_findings=list(doubts))
    await ports.ledger.open_run(run, book.estimate)
    reference = await ports.ledger.reference(run)
    book.history = beginning(reference)
    ports.telemetry.run_started(run, book.estimate)
    try:
        await _tell_shortages(run, expected, ports)
        await _Performance(book, instruments, ports, reference).play()
    except _Halt:
        pass
    except asyncio.CancelledError:
        book.note(Reason.INTERRUPTED, "The run was interrupted before it was finished.")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS if _is_insisted_on() else None):
                await _close_broken(book, ports)
        raise
    except LeaseLostError:
        book.note(Reason.INTERRUPTED, "Another replica took the run's job over before it was finished.")
        await _close_broken(book, ports)
        raise
    except Exception as error:
        ports.telemetry.internal_error(COMPONENT, error)
        message = f"The prober itself failed ({type(error).__name__}): what it had not judged is not known."
        book.note(Reason.INTERNAL_ERROR, message)
        await uncut(_close_broken(book, ports), ports.telemetry)
        raise
    return await uncut(_close(book, ports), ports.telemetry)


def _is_insisted_on() -> bool:
    """Tell a second cancellation from the first."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 1


async def _tell_shortages(run: Run, expected: Mapping[str, Spending], ports: Ports) -> None:
    """An estimate is an upper figure: a run that it does not fit may still end in time, so it is told, and begun."""
    short = await ports.budget.shortages(run, expected)
    if short:
        ports.telemetry.budget_short(run, short)


async def _close(book: RunBook, ports: Ports) -> RunReport:
    # A clock that was stepped back must not end a run before its beginning.
    report = book.report(max(ports.clock.now(), book.run.started_at))
    try:
        await ports.ledger.close_run(report)
    finally:
        ports.telemetry.run_ended(report)
    return report


async def _close_broken(book: RunBook, ports: Ports) -> None:
    """Close a run that ends by an exception; a ledger that fails as well must not hide that one."""
    try:
        await _close(book, ports)
    except LeaseLostError:
        # Whoever holds the job now has closed this run.
        return
    except LedgerError as error:
        ports.telemetry.internal_error(COMPONENT, error)


class _Performance:
    """One run in progress: drives generators, one after the other."""

    def __init__(
        self, book: RunBook, instruments: Instruments, ports: Ports, reference: tuple[AnswerMark, ...]
    ) -> None:
        self.book = book
        self.instruments = instruments
        self.ports = ports
        self.reference = reference
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
                reference=self.reference,
            )
            self._note_shortfalls(await self._drive(SCENARIOS[name](stage)))

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
        # It was measured by the target's own ask: what other questions cost is not known.
        return dataclasses.replace(calibration, ask=campaign.target.ask)

    async def _drive(self, scenario: Generator[Wave, WaveEvidence, Returned]) -> Returned:
        """Play one generator's waves to its end and return what it returns."""
        try:
            wave = next(scenario)
            while True:
                try:
                    evidence = await self._play_wave(wave)
                except _Halt:
                    self._curtail(scenario)
                    raise
                wave = scenario.send(evidence)
                self._stop_where_shared(upcoming=wave)
                await self._recalibrate_if_changed()
        except StopIteration as end:
            returned: Returned = end.value
            return returned
        finally:
            scenario.close()

    def _curtail(self, scenario: Generator[Wave, WaveEvidence, object]) -> None:
        """Let a generator whose wave will not be sent say what it could not judge, should it know what that means."""
        try:
            scenario.throw(Curtailed())
        except StopIteration as end:
            self._note_shortfalls(end.value)
        except Curtailed:
            return

    def _note_shortfalls(self, shortfalls: tuple[str, ...]) -> None:
        for shortfall in shortfalls:
            self.book.note(Reason.TOO_FEW_SAMPLES, shortfall)

    async def _play_wave(self, wave: Wave) -> WaveEvidence:
        book, ports = self.book, self.ports
        if ports.stop.is_set():
            book.note(Reason.INTERRUPTED, "The global stop switch ended the run.")
            raise _Halt
        planned = await compose_wave(wave, self.instruments, self.calibration, book, ports)
        costs = wave_costs(planned)
        self._keep_within_run(wave, sum(costs.values(), Spending()))
        reservation = await ports.budget.reserve(book.run, costs)
        if isinstance(reservation, tuple):
            self._halt_for_budget(f"To {wave.purpose} would pass {'; and '.join(map(str, reservation))}.")
        ports.telemetry.wave_started(book.run, wave, book.spent)
        evidence = await send_wave(planned, book, self.instruments, ports)
        await ports.budget.settle(reservation, costs_of(evidence))
        return evidence

    def _keep_within_run(self, wave: Wave, cost: Spending) -> None:
        campaign, spent = self.book.run.campaign, self.book.spent
        caps = (
            (campaign.max_run_tokens, "tokens", spent.tokens, cost.tokens),
            (campaign.max_run_requests, "requests", spent.requests, cost.requests),
        )
        for cap, unit, used, wanted in caps:
            if cap is not None and used + wanted > cap:
                self._halt_for_budget(
                    f"To {wave.purpose} would pass the run's cap of {cap:,} {unit}: {cap - used:,} left, up to "
                    f"{wanted:,} needed; the next run has a cap of its own."
                )

    def _halt_for_budget(self, message: str) -> NoReturn:
        self.book.note(Reason.BUDGET_EXHAUSTED, message)
        raise _Halt

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
