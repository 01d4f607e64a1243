"""Tells receivers what the outbox holds: in order for each issue, throttled, again and again until they take it."""

import asyncio
import collections
import dataclasses
import datetime as dt
import functools
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from prober.domain.errors import LeaseLostError, LedgerError
from prober.domain.issue import IssueChange
from prober.domain.notice import IssueNotice
from prober.notify.message import Delivery, Fate
from prober.notify.receiver import Receiver
from prober.runner.ports import Clock
from prober.store.issues import IssueBook
from prober.store.outbox import LONGEST_PAUSE, Outbox, Turn, Waiting
from prober.telemetry.logs import Log
from prober.telemetry.notification_series import NotificationSeries

LEASE = dt.timedelta(minutes=2)
"""Renewed at each step, the longest of which is one attempt of 10 s, twice for a trial."""

POLL_SECONDS = 2.0
HOUSEKEEPING_SECONDS = 15.0

FIRST_PAUSE_SECONDS = 2.0
LONGEST_BACKOFF_SECONDS = 900.0

MOST_IN_ONE = 100
"""Notices in one digest."""

COMPONENT = "notifications"
"""Name under which a fault of ours is reported."""


def parcels(waiting: Sequence[Waiting], allowed: int, *, folds: bool) -> list[tuple[Waiting, ...]]:
    """Divide what waits into at most so many messages.

    All by themselves where they fit. Else the last message is a digest of what is held back, if the receiver knows
    digests. Where not, or while some were refused as part of one, all wait for their turn, those first.
    """
    if allowed <= 0:
        return []
    alone = [each for each in waiting if each.is_alone]
    if len(waiting) <= allowed or not folds or alone:
        rest = [each for each in waiting if not each.is_alone]
        single: list[tuple[Waiting, ...]] = [(each,) for each in (*alone, *rest)]
        return single[:allowed]
    held_back = waiting[allowed - 1 :]
    return [*((each,) for each in waiting[: allowed - 1]), tuple(held_back[:MOST_IN_ONE])]


def pause_seconds(failures: int, retry_after: float | None, jitter: float) -> float:
    """Say how long a receiver is left alone after its attempt number `failures` + 1 in a row failed.

    2 s, doubled with each failure up to 15 min, of which a random half to all (`jitter` 0 to 1) is kept, so that
    receivers and replicas do not come back together; or longer, if the receiver says so, up to an hour.
    """
    backoff = min(LONGEST_BACKOFF_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(failures, 30))
    return min(max(backoff * (0.5 + jitter / 2), retry_after or 0.0), LONGEST_PAUSE.total_seconds())


class Deliveries:
    """The loop of `prober serve` that empties the outbox. Several replicas may run it side by side."""

    def __init__(  # noqa: PLR0913 - what it takes from and tells to
        self,
        *,
        outbox: Outbox,
        issues: IssueBook,
        receivers: Sequence[Receiver],
        clock: Clock,
        series: NotificationSeries,
        log: Log,
        jitter: Callable[[], float],
        report_fault: Callable[[str, BaseException], None] | None = None,
    ) -> None:
        """Open nothing.

        Args:
            outbox: what waits; shared by all replicas.
            issues: what is open, for receivers that must be told anew.
            receivers: those of the configuration.
            clock: of dates.
            series: counts what went out.
            log: tells of failures.
            jitter: draws from 0 to 1.
            report_fault: takes a fault of our own: component and exception; where left out, it is logged alone.
        """
        self._outbox = outbox
        self._issues = issues
        self._receivers = tuple(receivers)
        self._clock = clock
        self._series = series
        self._log = log
        self._jitter = jitter
        self._report_fault = report_fault or self._log_fault

    async def run(self) -> None:
        """Deliver until cancelled; an attempt under way is finished and written down first."""
        async with asyncio.TaskGroup() as group:
            for receiver in self._receivers:
                group.create_task(self._repeat(functools.partial(self._serve, receiver), POLL_SECONDS))
            group.create_task(self._repeat(self.keep_house, HOUSEKEEPING_SECONDS))

    async def deliver_once(self) -> int:
        """Send what is due now, to all receivers side by side; return how many notices were taken.

        Raises:
            LedgerError: the database failed.
        """
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._serve(receiver)) for receiver in self._receivers]
        await self.keep_house()
        return sum(task.result() for task in tasks)

    async def keep_house(self) -> None:
        """Give up what is too old, forget what is long past, publish how things stand.

        Raises:
            LedgerError: the database failed.
        """
        given_up = await self._outbox.give_up_old()
        if given_up:
            self._log.error("notices_given_up", notices=given_up, reason="not taken in time")
        await self._outbox.prune()
        backlog = {each.receiver: (each.pending, each.failed, each.oldest_at) for each in await self._outbox.backlog()}
        self._series.show_backlog(backlog, self._clock.now())
        unsettled = await self._issues.unsettled()
        self._series.show_open(collections.Counter((issue.target, issue.outcome) for issue in unsettled))

    async def _repeat(self, step: Callable[[], Coroutine[Any, Any, object]], seconds: float) -> None:
        while True:
            try:
                await step()
            except LedgerError as error:
                self._log.warning("notices_not_sent", reason=str(error))
            except Exception as error:  # noqa: BLE001 - whatever it was, the other receivers' loops go on
                self._report_fault(COMPONENT, error)
            await asyncio.sleep(seconds)

    def _log_fault(self, component: str, error: BaseException) -> None:
        self._log.error("internal_error", component=component, error=error)

    async def _serve(self, receiver: Receiver) -> int:
        """Take the turn for one receiver and send what is due; return how many notices were taken."""
        turn = await self._outbox.claim(receiver.name, LEASE)
        if turn is None:
            return 0
        try:
            return await self._send_due(receiver, turn)
        except LeaseLostError:
            # Slept past the lease, or the clock was set: whoever took over goes on.
            return 0
        finally:
            await self._outbox.yield_turn(turn)

    async def _send_due(self, receiver: Receiver, turn: Turn) -> int:
        waiting = await self._outbox.due(turn)
        allowed = receiver.throttle_per_minute - await self._outbox.sent_lately(turn)
        taken = 0
        for parcel in parcels(waiting, allowed, folds=receiver.form.folds):
            fate = await _to_its_end(self._send(receiver, turn, parcel))
            if fate is Fate.LATER:
                return taken
            if fate is Fate.TAKEN:
                taken += len(parcel)
                turn = dataclasses.replace(turn, failures=0)
        if self._needs_refresh(receiver, turn):
            await _to_its_end(self._refresh(receiver, turn))
        return taken

    async def _send(self, receiver: Receiver, turn: Turn, parcel: tuple[Waiting, ...]) -> Fate:
        """Send one message and write down what became of it."""
        rows, message_id = tuple(each.row_id for each in parcel), parcel[0].notice.event_id
        delivery = await receiver.send([each.notice for each in parcel], self._clock.now())
        match delivery.fate:
            case Fate.TAKEN:
                await self._outbox.settle_sent(turn, rows, message_id, delivery.answer)
                self._series.count_sent(receiver.name, len(parcel))
            case Fate.REFUSED if len(parcel) > 1:
                self._note_failure(receiver, delivery)
                await self._outbox.settle_apart(turn, rows)
            case Fate.REFUSED:
                self._note_failure(receiver, delivery)
                self._log.error("notices_given_up", receiver=receiver.name, notices=1, reason=delivery.answer)
                await self._outbox.settle_refused(turn, rows, message_id, delivery.answer)
            case Fate.LATER:
                self._note_failure(receiver, delivery)
                await self._outbox.settle_later(turn, rows, delivery.answer, self._pause(turn, delivery))
        return delivery.fate

    def _needs_refresh(self, receiver: Receiver, turn: Turn) -> bool:
        """Whether the receiver holds states only, and was not told them for a while (or in the future)."""
        interval = receiver.form.refresh_seconds
        if interval is None or turn.refreshed_at is None:
            return interval is not None
        return not 0 <= (self._clock.now() - turn.refreshed_at).total_seconds() < interval

    async def _refresh(self, receiver: Receiver, turn: Turn) -> None:
        """Tell the receiver all issues that count."""
        now = self._clock.now()
        notices = [
            IssueNotice(event_id=f"refresh-{issue.issue_id}", at=now, change=IssueChange.OPENED, issue=issue)
            for issue in await self._issues.unsettled()
            if receiver.route.takes_issue(issue)
        ]
        delivery = await receiver.send(notices, now)
        if delivery.fate is Fate.TAKEN:
            await self._outbox.settle_refreshed(turn)
        else:
            self._note_failure(receiver, delivery)
            await self._outbox.settle_later(turn, (), delivery.answer, self._pause(turn, delivery))

    def _pause(self, turn: Turn, delivery: Delivery) -> dt.timedelta:
        return dt.timedelta(seconds=pause_seconds(turn.failures, delivery.retry_after, self._jitter()))

    def _note_failure(self, receiver: Receiver, delivery: Delivery) -> None:
        self._series.count_failed(receiver.name)
        self._log.warning("notice_not_taken", receiver=receiver.name, answer=delivery.answer)


async def _to_its_end(attempt: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - whatever the attempt returns
    """Finish an attempt although we are cancelled: what was sent must be written down, or it is sent twice."""
    task = asyncio.ensure_future(attempt)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
