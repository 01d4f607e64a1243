"""Each slot is queued or missed exactly once, whatever clocks, restarts and other replicas do."""

import asyncio
import datetime as dt
from collections.abc import Callable

import pytest
import structlog

from prober.config.schedules import ScheduleSettings
from prober.domain.job import Job, JobRequest, JobState, MissedReason
from prober.service import slot_dealing
from prober.service.calendar import Calendar
from prober.service.slot_dealing import Dealer
from prober.store.switches import Switches, Thrown
from tests.support.ledger import SettableClock

NOON = dt.datetime(2026, 9, 1, 12, tzinfo=dt.UTC)
ALL_OFF = Switches(stop=None, paused={})
THROWN = Thrown(at=NOON, by="alice")


class FakeSlots:
    """The slot book, in memory; `jobs` by slot."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.cursors: dict[tuple[str, str, str], dt.datetime] = {}

    def _add(self, request: JobRequest, state: JobState, note: str = "") -> Job | None:
        assert request.slot is not None
        if request.slot in self.jobs:
            return None
        job = Job(job_id=request.slot, request=request, state=state, queued_at=NOON, note=note)
        return self.jobs.setdefault(request.slot, job)

    async def take(self, request: JobRequest) -> Job | None:
        return self._add(request, JobState.QUEUED)

    async def miss(self, request: JobRequest, reason: MissedReason) -> Job | None:
        return self._add(request, JobState.MISSED, reason.value)

    async def reached(self, schedule: str, target: str, definition: str) -> dt.datetime | None:
        return self.cursors.get((schedule, target, definition))

    async def reach(self, schedule: str, target: str, definition: str, slot: dt.datetime) -> None:
        key = (schedule, target, definition)
        self.cursors[key] = max(slot, self.cursors.get(key, slot))

    def told(self) -> list[tuple[str, str]]:
        """Time and note (or state) of every slot, in order."""
        return [(slot[-14:-9], job.note or job.state.value) for slot, job in sorted(self.jobs.items())]


class Tally:
    """Counts what the dealer tells."""

    def __init__(self) -> None:
        self.queued = 0
        self.missed: list[MissedReason] = []
        self.lags: list[dt.timedelta] = []

    def slot_queued(self, target: str) -> None:
        self.queued += target == "glm"

    def slot_missed(self, target: str, reason: MissedReason) -> None:
        assert target == "glm"
        self.missed.append(reason)

    def slots_dealt(self, lag: dt.timedelta) -> None:
        self.lags.append(lag)


@pytest.fixture
def slots() -> FakeSlots:
    return FakeSlots()


@pytest.fixture
def tally() -> Tally:
    return Tally()


MakeDealer = Callable[..., Dealer]


@pytest.fixture
def dealer(slots: FakeSlots, clock: SettableClock, tally: Tally) -> MakeDealer:
    def make(**fields: object) -> Dealer:
        settings = ScheduleSettings.model_validate(
            {"every_seconds": 600, "grace_seconds": 120, "stagger_seconds": 0, **fields}
        )
        calendar = Calendar.of("often", settings, "glm", 0)
        return Dealer(calendar, slots, clock, watcher=tally, log=structlog.get_logger())

    return make


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(NOON + dt.timedelta(seconds=1))


async def test_a_new_schedule_starts_now(dealer: MakeDealer, slots: FakeSlots, clock: SettableClock, tally: Tally):
    """What would have been due before it was there is no missed slot; the next one is queued in its time."""
    one = dealer()
    await one.deal(ALL_OFF)
    assert slots.told() == []

    clock.advance(603)
    await one.deal(ALL_OFF)
    await one.deal(ALL_OFF)
    assert slots.told() == [("12:10", "queued")]
    assert (tally.queued, tally.missed) == (1, [])
    assert tally.lags == [dt.timedelta(seconds=4)]


async def test_windows_missed_while_nobody_was_there_are_recorded(
    dealer: MakeDealer, slots: FakeSlots, clock: SettableClock, tally: Tally
):
    """On start, from the last slot known; one that is still within its grace is run."""
    await dealer().deal(ALL_OFF)
    clock.advance(3_000)
    await dealer().deal(ALL_OFF)

    assert slots.told() == [(f"12:{minute}", "down") for minute in (10, 20, 30, 40)] + [("12:50", "queued")]
    assert tally.missed == [MissedReason.DOWN] * 4


async def test_a_replica_that_came_too_late_says_so(dealer: MakeDealer, slots: FakeSlots, clock: SettableClock):
    """Suspended or blocked is not down."""
    one = dealer()
    await one.deal(ALL_OFF)
    clock.advance(1_500)
    await one.deal(ALL_OFF)

    assert slots.told() == [("12:10", "late"), ("12:20", "late")]


async def test_a_clock_stepped_back_neither_loses_nor_doubles_a_slot(
    dealer: MakeDealer, slots: FakeSlots, clock: SettableClock
):
    """An hour back in the middle, with a restart: each time of the day is one slot, all of them run."""
    one = dealer()
    await one.deal(ALL_OFF)
    for _ in range(6):
        clock.advance(600)
        await one.deal(ALL_OFF)
    clock.advance(-3_600)
    two = dealer()
    for _ in range(12):
        await one.deal(ALL_OFF)
        await two.deal(ALL_OFF)
        clock.advance(600)

    times = [f"{hour}:{minute:02}" for hour in (12, 13) for minute in range(0, 60, 10)]
    assert slots.told() == [(time, "queued") for time in times[1:]]


async def test_many_replicas_deal_with_each_slot_once(
    dealer: MakeDealer, slots: FakeSlots, clock: SettableClock, tally: Tally
):
    """And count it once."""
    replicas = [dealer() for _ in range(3)]
    for _ in range(4):
        for each in replicas:
            await each.deal(ALL_OFF)
        clock.advance(600)

    assert len(slots.jobs) == tally.queued == 3


async def test_quiet_hours_and_the_stop_are_recorded_as_such(
    dealer: MakeDealer, slots: FakeSlots, clock: SettableClock
):
    """Nothing is run, and it can be told why."""
    one = dealer(quiet_hours=("12:10-12:20",))
    await one.deal(ALL_OFF)
    clock.advance(600)
    await one.deal(ALL_OFF)
    clock.advance(600)
    await one.deal(Switches(stop=THROWN, paused={}))

    assert slots.told() == [("12:10", "quiet_hours"), ("12:20", "stopped")]


async def test_a_paused_schedule_misses_nothing_and_goes_on_from_its_resumption(
    dealer: MakeDealer, slots: FakeSlots, clock: SettableClock
):
    """Its own name counts; what fell into the pause is no missed slot."""
    one = dealer()
    await one.deal(ALL_OFF)
    clock.advance(600)
    await one.deal(Switches(stop=None, paused={"seldom": THROWN}))
    clock.advance(600)
    await one.deal(Switches(stop=None, paused={"often": THROWN}))
    clock.advance(600)
    await one.deal(ALL_OFF)

    assert slots.told() == [("12:10", "queued"), ("12:30", "queued")]


async def test_a_long_absence_is_recorded_in_bounds(
    dealer: MakeDealer, slots: FakeSlots, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
):
    """The latest slots one by one; a month of minutes does not fill the database."""
    monkeypatch.setattr(slot_dealing, "MOST_MISSED", 3)
    await dealer().deal(ALL_OFF)
    clock.advance(6_300)
    with structlog.testing.capture_logs() as logs:
        await dealer().deal(ALL_OFF)

    assert slots.told() == [("13:20", "down"), ("13:30", "down"), ("13:40", "down")]
    assert [line["slots"] for line in logs if line["event"] == "slots_missed_unlisted"] == [7]


async def test_a_dealer_goes_on_where_another_was(dealer: MakeDealer, slots: FakeSlots, clock: SettableClock):
    """A reload is no absence: what a late look finds is late, not down."""
    one, two = dealer(), dealer()
    await one.deal(ALL_OFF)
    two.go_on_from(one)
    clock.advance(900)
    await two.deal(ALL_OFF)

    assert slots.told() == [("12:10", "late")]


async def test_a_slot_that_jitter_puts_before_its_elder_is_not_late(
    dealer: MakeDealer, slots: FakeSlots, clock: SettableClock, tally: Tally
):
    """Where jitter is longer than the time between two slots: a replica that was there is late for none."""
    one = dealer(every_seconds=None, cron="* * * * *", jitter_seconds=1_800, grace_seconds=60)
    for _ in range(3 * 60 * 6):
        await one.deal(ALL_OFF)
        clock.advance(10)

    assert len(slots.jobs) > 100
    assert tally.missed == []


async def test_a_long_absence_keeps_nobody_waiting(dealer: MakeDealer, clock: SettableClock, slots: FakeSlots):
    """A day of seconds is counted in pieces, between which the replica's heart can beat; the latest are kept."""
    one = dealer(every_seconds=1)
    await one.deal(ALL_OFF)
    clock.advance(86_400)
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0)
            beats += 1

    heart = asyncio.create_task(beat())
    await one.deal(ALL_OFF)
    heart.cancel()

    assert beats > 80
    assert len(slots.jobs) == slot_dealing.MOST_MISSED
