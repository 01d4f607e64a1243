"""Preparing the database."""

import json

from prober.cli.exits import Exit
from tests.support.command import Workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import hostile


def test_a_database_without_schema_is_2_until_it_is_upgraded(place: Workplace):
    """The message names the verb that helps, and the verb helps, twice as well as once."""
    place.configure("http://127.0.0.1:9/v1")
    for path in place.folder.glob("prober.db*"):
        path.unlink()

    for arguments in (("run",), ("findings", "list")):
        finished = place.invoke(*arguments)
        assert finished.code == Exit.USAGE
        assert "prober db upgrade" in finished.stderr
    assert place.invoke("db", "upgrade").code == 0
    assert place.invoke("db", "upgrade").code == 0
    assert place.invoke("findings", "list").code == 0


def aged(place: Workplace, days: int) -> None:
    """Let everything in the database lie so far back."""
    place.configure("http://127.0.0.1:9/v1")
    for table, column in (("runs", "ended_at"), ("probes", "remembered_at"), ("findings", "found_at")):
        place.change(f"UPDATE {table} SET {column} = datetime({column}, ?)", f"-{days} days")  # noqa: S608 - ours


async def test_pruning_says_what_it_would_delete_then_deletes_it(place: Workplace):
    """`--dry-run` counts and deletes nothing; without it the same goes, and the sizes are told."""
    async with hostile(FakeLlm().handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1")
        assert (await place.invoke_beside("run")).code == 0
    [(before,)] = place.rows("SELECT count(*) FROM observations")
    assert "observations: 0 deleted" in (await place.invoke_beside("db", "prune")).stdout
    aged(place, 100)
    foretold = await place.invoke_beside("db", "prune", "--dry-run")
    assert place.rows("SELECT count(*) FROM observations") == [(before,)]
    done = await place.invoke_beside("db", "prune")

    assert (foretold.code, done.code) == (0, 0)
    assert f"observations: {before} to delete" in foretold.stdout
    assert f"observations: {before} deleted" in done.stdout
    assert "runs: 0 deleted" in done.stdout
    assert "MiB" in done.stdout
    assert place.rows("SELECT count(*) FROM observations") == [(0,)]
    assert place.rows("SELECT count(*) FROM runs") == [(1,)]


def test_a_database_that_cannot_be_made_small_enough_is_said(place: Workplace):
    """What running runs hold stays, and the operator learns why."""
    place.configure("http://127.0.0.1:9/v1")
    place.change("CREATE TABLE ballast (content)")
    place.change("INSERT INTO ballast VALUES (zeroblob(20000000))")
    document = json.loads(place.config.read_text())
    place.config.write_text(json.dumps({**document, "retention": {"max_mebibytes": 16}}))

    assert "larger than retention.max_mebibytes" in place.invoke("db", "prune", "--dry-run").stderr
    assert "held by running runs and unsettled issues" in place.invoke("db", "prune").stderr


def test_a_copy_is_made_and_put_back(place: Workplace):
    """Neither overwrites a copy, nor takes anything but a copy."""
    place.configure("http://127.0.0.1:9/v1")
    copy = str(place.folder / "copy.db")
    place.change("INSERT INTO switches VALUES ('marked', '2026-01-01', 'me')")
    made, again = place.invoke("db", "backup", copy), place.invoke("db", "backup", copy)
    place.change("DELETE FROM switches")
    put, wrong = place.invoke("db", "restore", copy), place.invoke("db", "restore", str(place.config))

    assert (made.code, again.code, put.code, wrong.code) == (0, Exit.OWN_FAILURE, 0, Exit.OWN_FAILURE)
    assert place.rows("SELECT name FROM switches") == [("marked",)]
