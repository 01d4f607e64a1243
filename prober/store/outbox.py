"""The outbox: what waits to be told, and which replica tells it.

One replica at a time sends to a receiver, by a lease on the receiver's row that is claimed as jobs are (SKIP LOCKED on
PostgreSQL, the immediate transaction on SQLite) and fenced as they are. That alone keeps each issue's notices in order
and the throttle exact. Delivery is at least once: a replica that dies between sending and settling leaves the notice to
be sent again, under the same event id.
"""

import dataclasses
import datetime as dt

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.errors import LeaseLostError, LedgerError
from prober.domain.notice import Notice
from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.job_rows import time_of
from prober.store.notices import insert_if_new, notice_of
from prober.store.rows import clip
from prober.store.schema.issues import notices, receivers
from prober.store.self_test_rows import is_of_users

GIVE_UP_AFTER = dt.timedelta(hours=72)
"""How long a notice is tried: a receiver may be down over a weekend."""

KEEP_SENT = dt.timedelta(days=7)
KEEP_FAILED = dt.timedelta(days=90)

REFUSED_TOGETHER = "refused together with others"

MINUTE = dt.timedelta(minutes=1)
_LOST = "Another replica sends to this receiver now."
_IS_PENDING = sa.and_(notices.c.sent_at.is_(None), notices.c.failed_at.is_(None))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The right to send to one receiver, until its lease is over."""

    receiver: str
    holder: str
    fence: int
    failures: int
    """Attempts in a row that failed."""
    lease: dt.timedelta
    """From each step on."""
    refreshed_at: dt.datetime | None
    """When the receiver was last told all open issues; only some kinds need that."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One notice that waits for one receiver."""

    row_id: int
    notice: Notice
    attempts: int
    is_alone: bool
    """It was refused together with others: one of them may be at fault, so it goes out by itself."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """How a receiver fares."""

    receiver: str
    pending: int
    failed: int
    oldest_at: dt.datetime | None
    """Of the pending ones."""


class Outbox:
    """Every method is one transaction and raises LedgerError only; LeaseLostError once a turn is another replica's."""

    def __init__(self, database: Database, clock: Clock, replica: str) -> None:
        self._database = database
        self._clock = clock
        self._replica = replica

    async def claim(self, receiver: str, lease: dt.timedelta) -> Turn | None:
        """Take the turn to send to a receiver; None while another replica has it, or the receiver is to be left alone.

        A lease or pause that reaches further ahead than any could was given before the clock stepped back: it is over.
        """
        async with self._database.begin() as connection:
            fresh = {"name": receiver, "holder": "", "fence": 0, "failures": 0}
            await connection.execute(insert_if_new(connection, receivers).values(fresh))
            query = sa.select(receivers).where(receivers.c.name == receiver).with_for_update(skip_locked=True)
            row = (await connection.execute(query)).one_or_none()
            now = await time_of(connection, self._clock)
            if row is None or _holds(row.lease_until, now, lease) or _holds(row.paused_until, now, LONGEST_PAUSE):
                return None
            values = {"holder": self._replica, "fence": row.fence + 1, "lease_until": now + lease}
            await connection.execute(sa.update(receivers).where(receivers.c.name == receiver).values(values))
        return Turn(
            receiver=receiver,
            holder=self._replica,
            fence=row.fence + 1,
            failures=row.failures,
            lease=lease,
            refreshed_at=row.refreshed_at,
        )

    async def due(self, turn: Turn, limit: int = 500) -> tuple[Waiting, ...]:
        """List what may be sent now, in order, and renew the turn.

        Of one subject, later notices stand behind earlier ones, and none stands there whose earlier one cannot be
        read: it was written by a newer version, whose replicas will send it. What failed most often comes last.
        """
        query = (
            sa.select(notices)
            .where(notices.c.receiver == turn.receiver, _IS_PENDING)
            .order_by(notices.c.id)
            .limit(limit)
        )
        async with self._database.begin() as connection:
            await self._hold(connection, turn)
            rows = (await connection.execute(query)).all()
        waiting: list[Waiting] = []
        tries: dict[str, int] = {}
        unread: set[str] = set()
        for row in rows:
            try:
                notice = notice_of(row.facts)
            except LedgerError:
                unread.add(row.subject)
            if row.subject not in unread:
                tries[row.subject] = max(tries.get(row.subject, 0), row.attempts)
                is_alone = row.last_answer == REFUSED_TOGETHER
                waiting.append(Waiting(row_id=row.id, notice=notice, attempts=row.attempts, is_alone=is_alone))
        return tuple(sorted(waiting, key=lambda each: tries[each.notice.subject]))

    async def sent_lately(self, turn: Turn) -> int:
        """Count the messages that the receiver took or refused for good within the last minute, whoever sent them."""
        now = self._clock.now()
        ended_at = sa.func.coalesce(notices.c.sent_at, notices.c.failed_at)
        # Notices that were given up for their age went out with no message: those are not counted.
        query = sa.select(sa.func.count(notices.c.message_id.distinct())).where(
            notices.c.receiver == turn.receiver, ended_at > now - MINUTE, ended_at <= now
        )
        async with self._database.read() as connection:
            return int((await connection.execute(query)).scalar_one())

    async def settle_sent(self, turn: Turn, rows: tuple[int, ...], message_id: str, answer: str) -> None:
        """Write down that notices were taken by the receiver, all in one message."""
        values = {"sent_at": self._clock.now(), "message_id": message_id}
        await self._settle(turn, rows, values, answer, {"failures": 0, "paused_until": None})

    async def settle_refused(self, turn: Turn, rows: tuple[int, ...], message_id: str, answer: str) -> None:
        """Give notices up that the receiver will never take; they stay visible as failed."""
        values = {"failed_at": self._clock.now(), "message_id": message_id}
        await self._settle(turn, rows, values, answer, {"failures": 0, "paused_until": None})

    async def settle_later(self, turn: Turn, rows: tuple[int, ...], answer: str, pause: dt.timedelta) -> None:
        """Leave notices for later, and the receiver alone for a while."""
        await self._settle(turn, rows, {}, answer, {"failures": receivers.c.failures + 1}, pause)

    async def settle_apart(self, turn: Turn, rows: tuple[int, ...]) -> None:
        """Have notices that were refused together sent one by one."""
        await self._settle(turn, rows, {}, REFUSED_TOGETHER, {})

    async def settle_refreshed(self, turn: Turn) -> None:
        """Write down that the receiver was told all open issues."""
        await self._settle(turn, (), {}, "", {"refreshed_at": self._clock.now()})

    async def yield_turn(self, turn: Turn) -> None:
        """Let other replicas have the turn; one that was lost already is no fault."""
        query = sa.update(receivers).where(_is_held(turn)).values(lease_until=None)
        async with self._database.begin() as connection:
            await connection.execute(query)

    async def _settle(
        self,
        turn: Turn,
        rows: tuple[int, ...],
        values: dict[str, object],
        answer: str,
        state: dict[str, object],
        pause: dt.timedelta | None = None,
    ) -> None:
        told = {"attempts": notices.c.attempts + 1, "last_answer": clip(answer), **values}
        async with self._database.begin() as connection:
            now = await self._hold(connection, turn)
            if rows:
                await connection.execute(sa.update(notices).where(notices.c.id.in_(rows)).values(told))
            if pause is not None:
                state = {**state, "paused_until": now + min(pause, LONGEST_PAUSE)}
            if state:
                await connection.execute(sa.update(receivers).where(receivers.c.name == turn.receiver).values(state))

    async def _hold(self, connection: AsyncConnection, turn: Turn) -> dt.datetime:
        """Require the turn and renew it; tell the shared time."""
        now = await time_of(connection, self._clock)
        renewed = sa.update(receivers).where(_is_held(turn)).values(lease_until=now + turn.lease)
        if not (await connection.execute(renewed)).rowcount:
            raise LeaseLostError(_LOST)
        return now

    async def give_up_old(self) -> int:
        """Give up what could not be told in time, whoever it was for; return how many."""
        now = self._clock.now()
        query = sa.update(notices).where(_IS_PENDING, notices.c.created_at <= now - GIVE_UP_AFTER).values(failed_at=now)
        async with self._database.begin() as connection:
            return (await connection.execute(query)).rowcount

    async def prune(self) -> int:
        """Forget what was told a week ago, and what was given up 90 days ago; return how many."""
        now = self._clock.now()
        is_old = sa.or_(notices.c.sent_at <= now - KEEP_SENT, notices.c.failed_at <= now - KEEP_FAILED)
        async with self._database.begin() as connection:
            return (await connection.execute(sa.delete(notices).where(is_old))).rowcount

    async def backlog(self) -> tuple[Backlog, ...]:
        """Tell how each receiver fares that anything is stored for, self-tests' aside, in alphabetical order."""
        pending = sa.case((_IS_PENDING, 1), else_=0)
        query = (
            sa.select(
                notices.c.receiver,
                sa.func.sum(pending).label("pending"),
                sa.func.count(notices.c.failed_at).label("failed"),
                sa.func.min(sa.case((_IS_PENDING, notices.c.created_at))).label("oldest_at"),
            )
            .where(is_of_users(notices.c.receiver))
            .group_by(notices.c.receiver)
            .order_by(notices.c.receiver)
        )
        async with self._database.read() as connection:
            return tuple(
                Backlog(
                    receiver=row.receiver, pending=int(row.pending), failed=int(row.failed), oldest_at=row.oldest_at
                )
                for row in await connection.execute(query)
            )


LONGEST_PAUSE = dt.timedelta(hours=1)
"""A receiver may ask for any pause; no longer one is kept."""

_TOLERANCE = dt.timedelta(seconds=1)


def _holds(until: dt.datetime | None, now: dt.datetime, longest: dt.timedelta) -> bool:
    """Whether something lasts: until then, but not for longer than it ever could."""
    return until is not None and now < until <= now + longest + _TOLERANCE


def _is_held(turn: Turn) -> sa.ColumnElement[bool]:
    """The condition that a turn still stands. One that is over, but that nobody else took, may go on."""
    return sa.and_(
        receivers.c.name == turn.receiver, receivers.c.holder == turn.holder, receivers.c.fence == turn.fence
    )
