"""Dealers are woken when their slots fall due, on a real clock."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator

import pytest
import structlog

from prober.config.schedules import ScheduleSettings
from prober.domain.errors import LedgerError
from prober.service import scheduler as module
from prober.service.calendar import Calendar
from prober.service.scheduler import DueTrigger, Scheduler
from prober.service.slot_dealing import Dealer
from prober.store.switches import Switches
from prober.wiring.system import SystemClock
from tests.service.test_slot_dealing import FakeSlots, Tally

ALL_OFF = Switches(stop=None, paused={})


class Misfires:
    """Counts."""

    def __init__(self) -> None:
        self.count = 0

    def misfire(self) -> None:
        self.count += 1


class Bench:
    """A scheduler over slots in memory; the next `gone` readings of the switches fail."""

    def __init__(self) -> None:
        self.slots = FakeSlots()
        self.misfires = Misfires()
        self.gone = 0
        self.scheduler = Scheduler(self._switches, watcher=self.misfires, log=structlog.get_logger())

    async def _switches(self) -> Switches:
        if self.gone:
            self.gone -= 1
            raise LedgerError("The database is gone.")
        return ALL_OFF

    def dealer(self, name: str = "often", **fields: object) -> Dealer:
        settings = ScheduleSettings.model_validate({"every_seconds": 1, "stagger_seconds": 0, **fields})
        calendar = Calendar.of(name, settings, "glm", 0)
        return Dealer(calendar, self.slots, SystemClock(), watcher=Tally(), log=structlog.get_logger())

    async def until(self, count: int) -> None:
        async with asyncio.timeout(20):
            while len(self.slots.jobs) < count:  # noqa: ASYNC110 - the slots are plain memory
                await asyncio.sleep(0.02)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    opened = Bench()
    yield opened
    await opened.scheduler.stop()


async def test_slots_are_dealt_with_as_they_fall_due(bench: Bench):
    """Each second one, until it is stopped; then none."""
    assert not bench.scheduler.is_running
    bench.scheduler.start([bench.dealer()])
    assert bench.scheduler.is_running
    await bench.until(2)

    await bench.scheduler.stop()
    await bench.scheduler.stop()
    known = dict(bench.slots.jobs)
    await asyncio.sleep(1.5)
    assert bench.slots.jobs == known
    assert not bench.scheduler.is_running


async def test_a_database_that_is_gone_delays_and_loses_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    """It is asked again and again; wake-ups meanwhile are counted as misfires."""
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.5)
    bench.gone = 5
    bench.scheduler.start([bench.dealer()])
    await bench.until(2)

    assert bench.gone == 0
    assert bench.misfires.count >= 1


async def test_other_calendars_take_the_place_of_those_before(bench: Bench):
    """An old one queues nothing more; the same times go on; what is next can be told."""
    bench.scheduler.start([bench.dealer("old"), bench.dealer("same")])
    await bench.until(2)
    bench.scheduler.replace([bench.dealer("same"), bench.dealer("new", every_seconds=86_400)])
    before = {slot for slot in bench.slots.jobs if slot.startswith("old/")}
    await bench.until(len(bench.slots.jobs) + 2)

    assert {slot for slot in bench.slots.jobs if slot.startswith("old/")} == before
    now = dt.datetime.now(dt.UTC)
    tomorrow = (now + dt.timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    assert bench.scheduler.next_due("new", now) == tomorrow
    assert bench.scheduler.next_due("old", now) is None


def test_the_trigger_asks_the_calendar():
    """From the last firing, or from now."""
    hourly = Calendar.of("hourly", ScheduleSettings(cron="@hourly", stagger_seconds=0), "glm", 0)
    now = dt.datetime(2026, 9, 1, 12, 30, tzinfo=dt.UTC)

    assert DueTrigger(hourly).get_next_fire_time(None, now) == now.replace(hour=13, minute=0)
    assert DueTrigger(hourly).get_next_fire_time(now.replace(hour=13, minute=0), now) == now.replace(hour=14, minute=0)


async def test_the_clock_is_read_anew(bench: Bench):
    """Looking again is harmless at any time."""
    bench.scheduler.start([bench.dealer()])
    for _ in range(5):
        bench.scheduler.look_again()
        await asyncio.sleep(0)
    await bench.until(1)
