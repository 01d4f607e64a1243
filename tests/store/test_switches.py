"""Switches that all replicas obey, on both databases."""

import pytest

from prober.store.database import Database
from prober.store.switches import SwitchBoard
from tests.support.ledger import SettableClock


@pytest.fixture
def board(database: Database, clock: SettableClock) -> SwitchBoard:
    return SwitchBoard(database, clock)


async def test_the_stop_is_thrown_and_released(board: SwitchBoard, clock: SettableClock):
    """It says since when and by whom; a second throw changes neither; other switches are not touched."""
    assert (await board.read()).stop is None
    await board.pause("nightly", "alice")
    thrown_at = clock.now()
    await board.stop("alice")
    clock.advance(60)
    await board.stop("bob")

    stop = (await board.read()).stop
    assert stop is not None
    assert (stop.at, stop.by) == (thrown_at, "alice")
    await board.go_on()
    await board.go_on()
    assert (await board.read()).stop is None
    assert list((await board.read()).paused) == ["nightly"]


async def test_schedules_are_paused_by_name(board: SwitchBoard):
    """Each by itself; one called stop does not stop the rest."""
    await board.pause("stop", "alice")
    await board.pause("nightly", "bob")

    switches = await board.read()
    assert switches.stop is None
    assert {name: thrown.by for name, thrown in switches.paused.items()} == {"stop": "alice", "nightly": "bob"}
    await board.resume("stop")
    assert list((await board.read()).paused) == ["nightly"]
