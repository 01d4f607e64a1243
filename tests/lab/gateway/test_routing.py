"""Who serves a request."""

import asyncio
import collections

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.lab.crew import Crew
from prober.lab.dice import Dice
from prober.lab.gateway.backend import Backend
from prober.lab.gateway.routing import RoutingTable
from prober.lab.gateway_settings import GatewaySettings
from prober.lab.seams import Seams
from tests.support.cluster import SMALL
from tests.support.echo_cluster import EchoCluster, a_request


def a_table(own: int = 2, others: int = 1, **gateway: object) -> RoutingTable:
    def backend(name: str) -> Backend:
        return Backend(name, SMALL, lambda _settings, _replaced: EchoCluster(), Crew(), collections.Counter())

    groups = {"own": [backend(f"own/{index}") for index in range(own)]}
    groups |= {f"other{index}": [backend(f"other{index}/0")] for index in range(others)}
    return RoutingTable(groups, GatewaySettings(**gateway), Seams(Dice({}, 0, collections.Counter())))


def names(table: RoutingTable, **fields: object) -> list[str]:
    return [hop.backend.name for hop in table.hops(1, a_request(**fields))]


def test_a_session_stays_where_it_was_first():
    """The affinity key decides, whoever uses it and however busy its home is."""
    table = a_table()
    [home] = names(table, session="s")
    next(backend for backend in table.backends if backend.name == home).in_flight = 9
    assert {names(table, session="s", tenant=tenant)[0] for tenant in "abcdef"} == {home}


def test_sessions_are_spread_evenly_within_the_group():
    """New sessions go where the fewest have their home, never to another group."""
    table = a_table(own=3)
    homes = collections.Counter(names(table, session=f"s{index}")[0] for index in range(9))
    assert homes == {"own/0": 3, "own/1": 3, "own/2": 3}


def test_homes_of_old_sessions_are_forgotten(monkeypatch: pytest.MonkeyPatch):
    """The table is bounded; a forgotten session's home has room for another."""
    monkeypatch.setattr("prober.lab.gateway.routing._MOST_HOMES", 2)
    table = a_table()
    for index in range(100):
        names(table, session=f"s{index}")
    assert len(table._homes) == 2
    assert sum(table._sessions.values()) == 2


def test_without_a_session_the_least_busy_serves():
    """Load decides; among equally busy ones each tenant has a favourite of its own."""
    table = a_table()
    assert {names(table, tenant=tenant)[0] for tenant in "abcdefgh"} == {"own/0", "own/1"}
    assert len({names(table, tenant="a")[0] for _ in range(5)}) == 1
    table.backends[0].in_flight = 1
    assert {names(table, tenant=tenant)[0] for tenant in "abcdefgh"} == {"own/1"}


@given(model=st.text(max_size=8))
def test_unknown_names_are_served_by_the_gateways_own_group(model: str):
    """Any name is served, as at SGLang; another group's name is served by that group."""
    asyncio.run(_check_group(model))


async def _check_group(model: str) -> None:
    expected = "other0" if model == "other0" else "own"
    assert names(a_table(), model=model)[0].startswith(f"{expected}/")
    assert names(a_table(), model="other0") == ["other0/0"]


def test_retries_go_to_other_backends_first():
    """A second attempt meets another backend, a third the first one again."""
    attempts = names(a_table(retries=2))
    assert len(set(attempts[:2])) == 2
    assert attempts[2] == attempts[0]


def test_fallbacks_come_last_and_are_counted():
    """Other groups are tried when the own one is through, and the hop says how many were tried in vain."""
    hops = list(a_table(others=2, retries=1, falls_back=True).hops(1, a_request()))
    assert [(hop.backend.name.split("/")[0], hop.fallbacks, hop.attempts) for hop in hops] == [
        ("own", 0, 1),
        ("own", 0, 2),
        ("other0", 1, 3),
        ("other1", 2, 4),
    ]


def test_all_backends_are_known_own_group_first():
    """Facts and restarts go over every backend."""
    assert [backend.name for backend in a_table().backends] == ["own/0", "own/1", "other0/0"]
