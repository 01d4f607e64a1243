"""Waits for a database that is gone: a run stands still meanwhile, and what it has seen is written down afterwards.

What waits: canaries before they are sent, answers with their findings, the evidence vault, the budget, the verdict.
What does not: a run's beginning, when nothing is sent or seen yet. Each write is fenced anew at each attempt, so that a
run whose job was taken over meanwhile is refused as ever.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from prober.domain.budget import Reservation, Shortage
from prober.domain.campaign import Run
from prober.domain.errors import LedgerGoneError
from prober.domain.evidence import Judgement
from prober.domain.excerpt import Excerpt, ExcerptBounds
from prober.domain.mark import AnswerMark
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from prober.domain.verdict import RunReport, Spending
from prober.runner.ports import Budget, Clock
from prober.store.ledger import SqlLedger
from prober.store.vault import Vault

ALONE_SECONDS: Final = 120.0
"""For a run that somebody waits for: a server's restart or failover takes less."""

UNDER_JOB_SECONDS: Final = 3_600.0
"""For a run of the service: nobody waits for it, and as long as the process lives nothing it has seen need be lost."""

RETRY_SECONDS: Final = 1.0
TELL_SECONDS: Final = 15.0

Given = TypeVar("Given")


class Watcher(Protocol):
    """Hears of waiting: `runner.ports.Telemetry`. Must not raise."""

    def database_awaited(self, run: Run, why: str, seconds: float) -> None:
        """Publish what is waited for, and for how long at most."""
        ...

    def database_back(self, run: Run, seconds: float) -> None:
        """Publish that the wait is over, and how long it was."""
        ...


class Patience:
    """One run's patience with one database.

    Args:
        run: on whose behalf.
        seconds: most that one outage is waited for; once they are over, every further write is tried once, at once.
        clock: counts them.
        watcher: hears of an outage at its beginning, every 15 s, and at its end.
        sleep: waits between two attempts.
    """

    def __init__(
        self,
        run: Run,
        seconds: float,
        *,
        clock: Clock,
        watcher: Watcher,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._run = run
        self._seconds = seconds
        self._clock = clock
        self._watcher = watcher
        self._sleep = sleep
        self._turn = asyncio.Lock()
        self._gone_since: float | None = None
        self._told_at = 0.0

    async def insist(self, attempt: Callable[[bool], Awaitable[Given]]) -> Given:
        """Attempt until it succeeds; one after the other, in the order asked for.

        Args:
            attempt: is told whether an earlier attempt may stand, since its commit got no answer.

        Raises:
            LedgerGoneError: the patience is over. Everything else that the attempt raises, at once.
        """
        is_in_doubt = False
        async with self._turn:
            while True:
                try:
                    given = await attempt(is_in_doubt)
                except LedgerGoneError as error:
                    is_in_doubt |= error.is_in_doubt
                    await self._wait(error)
                else:
                    self._go_on()
                    return given

    async def _wait(self, error: LedgerGoneError) -> None:
        now = self._clock.monotonic()
        is_new = self._gone_since is None
        if self._gone_since is None:
            self._gone_since = now
        left = self._gone_since + self._seconds - now
        if left <= 0:
            raise LedgerGoneError(
                f"{error} The run waited {self._seconds:g} s for it. What it saw and could not write down stands in "
                "its log alone; mend the database and run it again."
            )
        if is_new or now - self._told_at >= TELL_SECONDS:
            self._told_at = now
            self._watcher.database_awaited(self._run, str(error), left)
        await self._sleep(min(RETRY_SECONDS, left))

    def _go_on(self) -> None:
        if self._gone_since is not None:
            self._watcher.database_back(self._run, self._clock.monotonic() - self._gone_since)
            self._gone_since = None


class PatientLedger:
    """A ledger that waits. Satisfies `runner.ports.Ledger`; LedgerGoneError only once the patience is over."""

    def __init__(self, ledger: SqlLedger, patience: Patience) -> None:
        self._ledger = ledger
        self._patience = patience

    async def open_run(self, run: Run, estimate: Spending) -> None:
        """Store the run before its first probe; at once or not at all."""
        await self._ledger.open_run(run, estimate)

    async def remember(self, run: Run, planned: Sequence[tuple[Probe, Prompt]]) -> None:
        """Store the canaries of probes about to be sent; nothing is sent before it returns."""
        await self._patience.insist(lambda is_repeat: self._ledger.remember(run, planned, is_repeat=is_repeat))

    async def record(self, run: Run, judgement: Judgement) -> None:
        """Store what came back and what was concluded, once."""
        await self._patience.insist(lambda is_repeat: self._ledger.record(run, judgement, is_repeat=is_repeat))

    async def reference(self, run: Run) -> tuple[AnswerMark, ...]:
        """Reference answers of an earlier run; at once or not at all."""
        return await self._ledger.reference(run)

    async def close_run(self, report: RunReport) -> None:
        """Store the verdict and end the run. Doing it twice comes to the same."""
        await self._patience.insist(lambda _: self._ledger.close_run(report))


class PatientBudget:
    """A budget that waits. Satisfies `runner.ports.Budget`; where it errs, too much is counted as spent."""

    def __init__(self, budget: Budget, patience: Patience) -> None:
        self._budget = budget
        self._patience = patience

    async def shortages(self, run: Run, wanted: Mapping[str, Spending]) -> tuple[Shortage, ...]:
        """Name the caps that would be passed; at once or not at all."""
        return await self._budget.shortages(run, wanted)

    async def reserve(self, run: Run, wanted: Mapping[str, Spending]) -> Reservation | tuple[Shortage, ...]:
        """Count what a wave can spend at most. An earlier attempt that may stand stays counted besides."""
        return await self._patience.insist(lambda _: self._budget.reserve(run, wanted))

    async def settle(self, reservation: Reservation, spent: Mapping[str, Spending]) -> None:
        """Count what was really spent; a reservation that may be settled by now is left as it is."""

        async def attempt(is_repeat: bool) -> None:  # noqa: FBT001 - as `insist` calls it
            # Taken off twice it would allow what was spent.
            if not is_repeat:
                await self._budget.settle(reservation, spent)

        await self._patience.insist(attempt)


class PatientVault:
    """A vault that waits. Satisfies `runner.ports.Vault`."""

    def __init__(self, vault: Vault, patience: Patience) -> None:
        self._vault = vault
        self._patience = patience

    @property
    def bounds(self) -> ExcerptBounds:
        """How much may be kept."""
        return self._vault.bounds

    async def keep(self, run: Run, judgement: Judgement, excerpts: Sequence[Excerpt]) -> None:
        """Keep what a recorded answer holds of foreign text, once."""
        await self._patience.insist(lambda is_repeat: self._vault.keep(run, judgement, excerpts, is_repeat=is_repeat))
