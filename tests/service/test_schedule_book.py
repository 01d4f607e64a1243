"""Schedules as people see and change them."""

import datetime as dt

import pytest
import structlog

from prober.config.schedules import ScheduleSettings
from prober.config.schema import Settings
from prober.service.calendar import calendars_of
from prober.service.schedule_book import ScheduleBook
from prober.service.scheduler import Scheduler
from prober.service.slot_dealing import Dealer
from prober.store.database import Database
from prober.store.switches import SwitchBoard
from tests.service.test_scheduler import Misfires
from tests.service.test_slot_dealing import FakeSlots, Tally
from tests.support.ledger import SettableClock

NOW = dt.datetime(2026, 9, 1, 12, 30, tzinfo=dt.UTC)


@pytest.fixture
async def book(sqlite_database: Database) -> ScheduleBook:
    clock = SettableClock(NOW)
    settings = Settings.model_construct(
        targets={"glm": None, "kimi": None},
        schedules={
            "hourly": ScheduleSettings(cron="@hourly", stagger_seconds=60),
            "seldom": ScheduleSettings(every_seconds=86_400, targets=("kimi",)),
        },
    )
    board = SwitchBoard(sqlite_database, clock)
    scheduler = Scheduler(board.read, watcher=Misfires(), log=structlog.get_logger())
    scheduler.start(
        [
            Dealer(calendar, FakeSlots(), clock, watcher=Tally(), log=structlog.get_logger())
            for calendar in calendars_of(settings)
        ]
    )
    return ScheduleBook(lambda: settings, scheduler, board, clock)


async def test_schedules_are_listed_with_what_is_next(book: ScheduleBook):
    """In the configuration's order, in its words; the next slot of any of their targets."""
    hourly, seldom = await book.listed()

    assert (hourly.name, hourly.targets, hourly.when) == ("hourly", ("glm", "kimi"), "@hourly")
    assert hourly.next_at == NOW.replace(hour=13, minute=0)
    assert (seldom.name, seldom.targets, seldom.when) == ("seldom", ("kimi",), "every 86400 s")
    assert not hourly.is_paused


async def test_a_schedule_is_paused_and_resumed_in_the_database(book: ScheduleBook):
    """It says by whom, and names no next slot meanwhile; an unknown one is None."""
    paused = await book.pause("hourly", "alice")
    assert paused is not None
    assert (paused.is_paused, paused.paused_by, paused.next_at) == (True, "alice", None)
    assert [schedule.is_paused for schedule in await book.listed()] == [True, False]

    resumed = await book.resume("hourly", "bob")
    assert resumed is not None
    assert (resumed.is_paused, resumed.next_at) == (False, NOW.replace(hour=13, minute=0))
    assert await book.pause("unknown", "alice") is None
    assert await book.resume("unknown", "alice") is None
