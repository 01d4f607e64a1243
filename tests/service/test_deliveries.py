"""The outbox on its way to real HTTP receivers that fail, hang, refuse and die, on both databases."""

import asyncio
import collections
import contextlib
import dataclasses
import datetime as dt
import io

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from prober.domain.issue import IssueChange
from prober.domain.notice import Route
from prober.domain.outcome import Outcome
from prober.endpoint.plain_client import PlainClient
from prober.notify.formats import FORMATS
from prober.notify.receiver import Receiver
from prober.service.deliveries import (
    LEASE,
    LONGEST_BACKOFF_SECONDS,
    MOST_IN_ONE,
    Deliveries,
    parcels,
    pause_seconds,
)
from prober.store.database import Database
from prober.store.issues import IssueBook
from prober.store.notices import put
from prober.store.outbox import GIVE_UP_AFTER, Outbox, Waiting
from prober.store.schema.issues import notices
from prober.telemetry.logs import LogFormat, open_log
from prober.telemetry.notification_series import NotificationSeries
from prober.telemetry.redaction import Redactor
from tests.store.test_outbox import pass_time
from tests.support.issues import Replica, a_finding, a_notice
from tests.support.ledger import SettableClock
from tests.support.receiving import DIE, HANG, TAKE_AND_DIE, receiving, until

SECRET = "webhook-secret-0123"


class Station:
    """One replica's deliveries to receivers that are called after their formats."""

    def __init__(self, database: Database, clock: SettableClock, *receivers: Receiver, name: str = "one") -> None:
        self.registry = CollectorRegistry()
        self.log = io.StringIO()
        self.faults: list[tuple[str, BaseException]] = []
        self.outbox = Outbox(database, clock, name)
        self.issues = IssueBook(database, clock, tuple(receiver.route for receiver in receivers))
        self.deliveries = Deliveries(
            outbox=self.outbox,
            issues=self.issues,
            receivers=receivers,
            clock=clock,
            series=NotificationSeries(
                self.registry, targets=["staging"], receivers=[receiver.name for receiver in receivers]
            ),
            log=open_log(self.log, form=LogFormat.JSON, redactor=Redactor(), now=clock.now),
            jitter=lambda: 1.0,
            report_fault=lambda component, error: self.faults.append((component, error)),
        )

    def value(self, name: str, receiver: str = "webhook") -> float | None:
        return self.registry.get_sample_value(f"prober_{name}", {"receiver": receiver})


def receiver_at(url: str, kind: str = "webhook", *, throttle: int = 600, name: str = "") -> Receiver:
    return Receiver(
        route=Route(receiver=name or kind),
        form=FORMATS[kind],
        client=PlainClient(url, deadline_seconds=1.0),
        secret=SECRET,
        throttle_per_minute=throttle,
    )


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(a_notice().at)


async def add(database: Database, *events: str, receiver: str = "webhook") -> None:
    """Events by id; those that begin alike are about one issue."""
    async with database.begin() as connection:
        for event in events:
            notice = a_notice(IssueChange.OPENED, event_id=event, fingerprint=event[0])
            await put(connection, notice, (Route(receiver=receiver),))


async def until_empty(station: Station, database: Database, clock: SettableClock, *, rounds: int = 60) -> None:
    """Deliver, letting pauses pass, until nothing waits."""
    for _ in range(rounds):
        await station.deliveries.deliver_once()
        if not any(each.pending for each in await station.outbox.backlog()):
            return
        await pass_time(database, clock, dt.timedelta(minutes=16))
    pytest.fail("something still waits")


# --- nothing lost, nothing twice ------------------------------------------------------------------------------------


async def test_a_receiver_that_fails_in_every_way_gets_everything_once_and_in_order(
    database: Database, clock: SettableClock
):
    """500, 429, redirects, a wrong key, a hang, a dying connection: each event arrives, once, in order of its issue."""
    script = (500, "429;5", 301, 401, HANG, DIE, 503, 200, DIE, 200, "503;1", 404)
    async with receiving(*script) as siem:
        await add(database, "a1", "b1", "a2", "c1", "a3", "b2")
        station = Station(database, clock, receiver_at(siem.url))
        await until_empty(station, database, clock)

    assert sorted(siem.events) == ["a1", "a2", "a3", "b1", "b2", "c1"]
    for issue in "ab":
        own = [event for event in siem.events if event.startswith(issue)]
        assert own == sorted(own)
    assert siem.tries == 6 + sum(step != 200 for step in script)
    assert station.value("notices_sent_total") == 6
    assert station.value("notice_attempts_failed_total") == 10


async def test_an_answer_that_is_lost_is_the_only_thing_that_doubles(database: Database, clock: SettableClock):
    """A receiver that took an event and died before it said so gets it again, under the same id."""
    async with receiving(TAKE_AND_DIE) as siem:
        await add(database, "a1", "b1")
        await until_empty(Station(database, clock, receiver_at(siem.url)), database, clock)

    assert collections.Counter(siem.events) == {"a1": 2, "b1": 1}


async def test_a_replica_that_dies_after_sending_leaves_the_event_to_another(database: Database, clock: SettableClock):
    """Its lease runs out, and the other one goes on where nothing was written down."""
    async with receiving() as siem:
        await add(database, "a1", "b1")
        dead, alive = (Station(database, clock, receiver_at(siem.url), name=name) for name in ("dead", "alive"))
        turn = await dead.outbox.claim("webhook", LEASE)
        assert turn is not None
        assert await alive.deliveries.deliver_once() == 0
        await pass_time(database, clock, LEASE)
        assert await alive.deliveries.deliver_once() == 2

    assert siem.events == ["a1", "b1"]


async def test_replicas_side_by_side_send_each_event_once(database: Database, clock: SettableClock):
    """Three replicas that run their loops on one database, whatever the order of their rounds."""
    async with receiving() as siem:
        stations = [Station(database, clock, receiver_at(siem.url), name=f"{number}") for number in range(3)]
        await add(database, *(f"{letter}{number}" for number in range(5) for letter in "abcdef"))
        async with asyncio.TaskGroup() as group:
            for station in stations:
                group.create_task(station.deliveries.deliver_once())
        await until_empty(stations[0], database, clock)

    assert len(siem.events) == len(set(siem.events)) == 30
    for issue in "abcdef":
        assert [event for event in siem.events if event[0] == issue] == [f"{issue}{number}" for number in range(5)]


async def test_being_stopped_in_the_middle_of_a_message_doubles_nothing(database: Database, clock: SettableClock):
    """A drain lets the attempt under way finish and be written down."""
    async with receiving() as siem:
        await add(database, "a1")
        station = Station(database, clock, receiver_at(siem.url))
        for _ in range(20):
            task = asyncio.create_task(station.deliveries.run())
            await until(lambda: siem.tries > 0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await station.deliveries.deliver_once()

    assert siem.events == ["a1"]


async def test_a_receiver_that_hangs_does_not_hold_up_another(database: Database, clock: SettableClock):
    """Receivers are served side by side."""
    async with receiving(HANG) as bad, receiving() as good:
        await add(database, "a1", receiver="bad")
        await add(database, "a1", receiver="good")
        station = Station(database, clock, receiver_at(bad.url, name="bad"), receiver_at(good.url, name="good"))
        task = asyncio.create_task(station.deliveries.deliver_once())
        async with asyncio.timeout(0.9):
            await until(lambda: bool(good.events))
        assert await task == 1


# --- what cannot be delivered ---------------------------------------------------------------------------------------


async def test_what_a_receiver_will_never_take_is_visible_and_holds_up_nothing(
    database: Database, clock: SettableClock
):
    """A 400 is final for its message alone: counted, logged by name and answer, and kept."""
    async with receiving(400) as siem:
        await add(database, "a1", "a2", "b1")
        station = Station(database, clock, receiver_at(siem.url))
        assert await station.deliveries.deliver_once() == 2

    assert siem.events == ["a2", "b1"]
    assert station.value("notices_given_up") == 1
    assert '"event": "notices_given_up"' in station.log.getvalue()
    assert "HTTP 400" in station.log.getvalue()


async def test_a_digest_that_is_refused_is_taken_apart(database: Database, clock: SettableClock):
    """One bad event must not take the good ones with it."""
    async with receiving(200, 400) as siem:
        await add(database, "a1", "b1", "c1", "d1", "e1")
        station = Station(database, clock, receiver_at(siem.url, throttle=2))
        await until_empty(station, database, clock)

    assert siem.events == ["a1", "b1", "c1", "d1", "e1"]
    assert station.value("notices_given_up") == 0


async def test_a_receiver_that_is_gone_for_good_is_given_up_after_the_stated_time(
    database: Database, clock: SettableClock
):
    """Until then its event waits and its age is shown; afterwards it is failed, for all to see."""
    await add(database, "a1")
    station = Station(database, clock, receiver_at("http://127.0.0.1:9/"))
    await station.deliveries.deliver_once()
    await pass_time(database, clock, dt.timedelta(hours=71))
    await station.deliveries.deliver_once()
    assert station.value("notices_pending") == 1
    assert station.value("oldest_pending_notice_age_seconds") == 71 * 3_600

    await pass_time(database, clock, GIVE_UP_AFTER - dt.timedelta(hours=71))
    await station.deliveries.deliver_once()
    assert (station.value("notices_pending"), station.value("notices_given_up")) == (0, 1)
    assert station.value("oldest_pending_notice_age_seconds") == 0


async def test_a_failing_receiver_is_left_alone_longer_and_longer(sqlite_database: Database, clock: SettableClock):
    """One attempt, then a pause, however much waits; a success forgives."""
    async with receiving(500, 500, 200, 500) as siem:
        await add(sqlite_database, "a1", "b1", "c1")
        station = Station(sqlite_database, clock, receiver_at(siem.url))
        tries = []
        for seconds in (0, 1.9, 0.2, 3.8, 0.3):
            await pass_time(sqlite_database, clock, dt.timedelta(seconds=seconds))
            await station.deliveries.deliver_once()
            tries.append(siem.tries)

    assert tries == [1, 1, 2, 2, 4]


async def test_the_pause_a_receiver_asks_for_is_kept(database: Database, clock: SettableClock):
    """`Retry-After` counts where it is longer than our own pause."""
    async with receiving("429;90") as siem:
        await add(database, "a1")
        station = Station(database, clock, receiver_at(siem.url))
        await station.deliveries.deliver_once()
        await pass_time(database, clock, dt.timedelta(seconds=89))
        await station.deliveries.deliver_once()
        assert siem.tries == 1
        await pass_time(database, clock, dt.timedelta(seconds=2))
        await station.deliveries.deliver_once()

    assert siem.events == ["a1"]


async def test_no_secret_and_no_address_is_stored_or_logged(database: Database, clock: SettableClock):
    """Neither what we sent to authenticate, nor where to, nor what the receiver said."""
    async with receiving(500, 400) as siem:
        await add(database, "a1", "b1")
        station = Station(database, clock, receiver_at(f"{siem.url}/s3cret-path"))
        await until_empty(station, database, clock)

    async with database.read() as connection:
        stored = str((await connection.execute(sa.select(notices))).all())
    for text in (stored, station.log.getvalue()):
        assert not [word for word in (SECRET, "s3cret-path", "127.0.0.1", "said") if word in text]
    assert "HTTP 500" in station.log.getvalue()


# --- throttle -------------------------------------------------------------------------------------------------------


async def test_a_storm_becomes_a_few_messages_and_loses_nothing(database: Database, clock: SettableClock):
    """Within a minute no more messages than allowed, the last a digest of all that is held back."""
    events = [f"{chr(97 + number % 26)}{number}" for number in range(60)]
    async with receiving() as siem:
        await add(database, *events)
        station = Station(database, clock, receiver_at(siem.url, throttle=5))
        assert await station.deliveries.deliver_once() == 60
        assert [len(body.get("events", [1])) for body in siem.taken] == [1, 1, 1, 1, 56]

        await add(database, "z99")
        assert await station.deliveries.deliver_once() == 0
        clock.advance(61)
        assert await station.deliveries.deliver_once() == 1

    assert siem.events == [*events, "z99"]


async def test_where_no_message_stands_for_several_they_wait_for_their_turn(database: Database, clock: SettableClock):
    """PagerDuty: so many in a minute, the rest in the next, in order."""
    async with receiving() as pager:
        await add(database, *(f"{letter}1" for letter in "abcde"), receiver="pagerduty")
        station = Station(database, clock, receiver_at(pager.url, "pagerduty", throttle=2))
        sent = []
        for _ in range(4):
            sent.append(await station.deliveries.deliver_once())
            clock.advance(61)
        keys = [body["dedup_key"] for body in pager.taken]

    assert sent == [2, 2, 1, 0]
    assert keys == list("abcde")


# --- Alertmanager ---------------------------------------------------------------------------------------------------


async def test_open_issues_are_told_anew_until_they_are_settled(database: Database, clock: SettableClock):
    """Alertmanager forgets: each minute it hears of what is open, also of what was opened before it was configured."""
    replica = Replica(database, clock)
    await replica.find(a_finding())
    async with receiving() as manager:
        receiver = receiver_at(manager.url, "alertmanager")
        station = Station(database, clock, receiver)
        for _ in range(3):
            await station.deliveries.deliver_once()
        assert manager.tries == 1
        clock.advance(60)
        await station.deliveries.deliver_once()
        assert manager.tries == 2

        (issue,) = await station.issues.listed()
        await station.issues.resolve(issue.issue_id, "ann")
        clock.advance(60)
        await station.deliveries.deliver_once()
        clock.advance(60)
        await station.deliveries.deliver_once()

    ends = [alert["endsAt"] for body in manager.taken for alert in body]
    settled = clock.now() - dt.timedelta(seconds=60)
    assert len(ends) == 3
    assert ends[-1] == f"{settled:%Y-%m-%dT%H:%M:%SZ}"


async def test_a_refresh_that_fails_is_tried_again(database: Database, clock: SettableClock):
    """After a pause like any other message."""
    await Replica(database, clock).find(a_finding())
    async with receiving(500) as manager:
        station = Station(database, clock, receiver_at(manager.url, "alertmanager"))
        await station.deliveries.deliver_once()
        await pass_time(database, clock, dt.timedelta(seconds=3))
        await station.deliveries.deliver_once()

    assert (manager.tries, len(manager.taken)) == (2, 1)
    assert station.value("notice_attempts_failed_total", "alertmanager") == 1


# --- the loop -------------------------------------------------------------------------------------------------------


async def test_from_a_finding_to_the_receiver(database: Database, clock: SettableClock):
    """The whole way, by the loop that the service runs; open issues are published as metrics."""
    async with receiving() as siem:
        receiver = receiver_at(siem.url)
        station = Station(database, clock, receiver)
        task = asyncio.create_task(station.deliveries.run())
        await Replica(database, clock, (receiver.route,)).find(a_finding(), a_finding(Outcome.SUSPECT, detector="d"))
        await until(lambda: len(siem.events) > 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await station.deliveries.keep_house()

    assert {body["issue"]["outcome"] for body in siem.taken} == {"violation", "suspect"}
    counts = [
        station.registry.get_sample_value("prober_open_issues", {"target": "staging", "outcome": outcome})
        for outcome in ("violation", "suspect")
    ]
    assert counts == [1, 1]


async def test_the_loop_outlives_a_database_that_is_away(sqlite_database: Database, clock: SettableClock):
    """It is logged as what it is, no fault of ours, and the next round is tried."""
    async with sqlite_database.begin() as connection:
        await connection.execute(sa.text("ALTER TABLE notices RENAME TO gone"))
    async with receiving() as siem:
        station = Station(sqlite_database, clock, receiver_at(siem.url))
        task = asyncio.create_task(station.deliveries.run())
        await until(lambda: "notices_not_sent" in station.log.getvalue())
        async with sqlite_database.begin() as connection:
            await connection.execute(sa.text("ALTER TABLE gone RENAME TO notices"))
        await add(sqlite_database, "a1")
        await until(lambda: bool(siem.events))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert siem.events == ["a1"]
    assert station.faults == []


async def test_a_fault_of_ours_is_reported_and_holds_up_nobody_else(sqlite_database: Database, clock: SettableClock):
    """It counts as an internal error: a receiver that is never told must not look like one with nothing to tell."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    async with receiving() as siem:
        bad, good = receiver_at(siem.url, name="bad"), receiver_at(siem.url, name="good")
        bad.form = dataclasses.replace(bad.form, compose=broken)
        await add(sqlite_database, "a1", receiver="bad")
        await add(sqlite_database, "b1", receiver="good")
        station = Station(sqlite_database, clock, bad, good)
        task = asyncio.create_task(station.deliveries.run())
        await until(lambda: bool(station.faults and siem.events))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert siem.events == ["b1"]
    assert [(component, type(error)) for component, error in station.faults[:1]] == [
        ("notifications", ZeroDivisionError)
    ]


# --- dividing and pausing -------------------------------------------------------------------------------------------

WAITING = st.tuples(st.integers(0, 250), st.integers(0, 250)).map(
    lambda sizes: [
        # What was refused together stood before what came since.
        Waiting(row_id=number, notice=a_notice(fingerprint=str(number % 7)), attempts=0, is_alone=number < min(sizes))
        for number in range(max(sizes))
    ]
)


@given(waiting=WAITING, allowed=st.integers(-3, 300), folds=st.booleans())
def test_no_division_loses_doubles_or_exceeds_anything(waiting: list[Waiting], allowed: int, *, folds: bool):
    """Never more messages than allowed; nothing in two; each issue in order; digests only of what may be folded."""
    divided = parcels(waiting, allowed, folds=folds)
    rows = [each.row_id for parcel in divided for each in parcel]

    assert len(divided) <= max(allowed, 0)
    assert rows == [each.row_id for each in waiting][: len(rows)], "what goes out now is what waited first"
    assert all(0 < len(parcel) <= MOST_IN_ONE for parcel in divided)
    digests = [parcel for parcel in divided if len(parcel) > 1]
    assert len(digests) <= folds
    assert not any(each.is_alone for parcel in digests for each in parcel)
    if len(waiting) <= allowed:
        assert len(rows) == len(waiting)
    elif allowed > 0:
        assert rows


@given(
    failures=st.integers(0, 10_000),
    retry_after=st.none() | st.floats(0, 1e9),
    jitter=st.floats(0, 1),
)
def test_pauses_grow_and_are_bounded(failures: int, retry_after: float | None, jitter: float):
    """Never shorter than half the back-off, never longer than an hour; what the receiver asks for counts."""
    seconds = pause_seconds(failures, retry_after, jitter)
    backoff = min(LONGEST_BACKOFF_SECONDS, 2.0 * 2.0 ** min(failures, 30))

    assert min(max(backoff / 2, retry_after or 0), 3_600) <= seconds <= 3_600
    if retry_after is None:
        assert seconds <= backoff
