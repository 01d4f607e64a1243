"""`prober serve` and `prober stop`: what they refuse, and what they leave in the database.

A replica at work is a process of its own: tests/service/test_serve.py.
"""

import pytest

from tests.support.command import Workplace


def test_the_global_stop_is_thrown_and_undone(place: Workplace):
    """It stands in the database, for all replicas, with who threw it; twice is as good as once."""
    place.configure("http://127.0.0.1:9/v1")
    for _ in range(2):
        assert place.invoke("stop").code == 0
    ((name, by),) = place.rows("SELECT name, thrown_by FROM switches")
    assert name == "stop"
    assert by.endswith("at the command line")

    undone = place.invoke("stop", "--undo")
    assert (undone.code, place.rows("SELECT name FROM switches")) == (0, [])
    assert "goes on" in undone.said


def test_a_user_without_a_name_can_stop_all_the_same(place: Workplace, monkeypatch: pytest.MonkeyPatch):
    """Containers run under bare numbers; the switch that ends all probing must not fail for it."""

    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 10001")

    place.configure("http://127.0.0.1:9/v1")
    monkeypatch.setattr("getpass.getuser", nameless)
    assert place.invoke("stop").code == 0
    assert place.rows("SELECT thrown_by FROM switches") == [("unknown login at the command line",)]


@pytest.mark.parametrize("verb", ["serve", "stop"])
def test_an_old_schema_is_refused_with_the_remedy(place: Workplace, verb: str):
    """Nothing starts on a database that an upgrade has not seen."""
    place.configure("http://127.0.0.1:9/v1").change("UPDATE alembic_version SET version_num = ?", "0001")
    refused = place.invoke(verb)

    assert refused.code == 2
    assert "prober db upgrade" in refused.said


def test_a_newer_schema_of_the_same_thousand_is_accepted(place: Workplace):
    """Version N-1 runs on the schema of N, and its own upgrade leaves that alone."""
    place.configure("http://127.0.0.1:9/v1").change("UPDATE alembic_version SET version_num = ?", "0999")

    assert place.invoke("stop").code == 0
    assert place.invoke("db", "upgrade").code == 0
    assert place.rows("SELECT version_num FROM alembic_version") == [("0999",)]


def test_a_configuration_that_cannot_be_used_is_refused(place: Workplace):
    """With its problems, before anything is opened."""
    place.configure("http://127.0.0.1:9/v1", context_tokens=0)
    refused = place.invoke("serve")

    assert refused.code == 2
    assert "context_tokens" in refused.said
