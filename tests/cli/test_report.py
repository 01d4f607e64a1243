"""`prober report`: stored runs in every format."""

import json
import re

import pytest

from prober.cli.exits import Exit
from prober.report.formats import FORMATS
from tests.support.command import Finished, Workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import hostile


@pytest.fixture
async def leaked(place: Workplace) -> Finished:
    """A run that found a leak, with its JSON report beside the database."""
    async with hostile(FakeLlm(leaks=True).handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1")
        ran = await place.invoke_beside("run", "--json", str(place.folder / "run.json"))
    assert ran.code == Exit.VIOLATION
    return ran


async def test_a_stored_run_is_told_as_it_was(leaked: Finished, place: Workplace):
    """To the letter the JSON that the run itself wrote, and the same exit code."""
    out = place.folder / "stored.json"
    told = await place.invoke_beside("report", "--format", "json", "--output", str(out))

    assert told.code == Exit.VIOLATION
    assert json.loads(out.read_text()) == json.loads((place.folder / "run.json").read_text())
    assert "VIOLATION hostile: foreign_canary" in told.stdout


async def test_the_terminal_is_the_default(leaked: Finished, place: Workplace):
    """The report of the run that ended last, as the run printed it."""
    told = await place.invoke_beside("report")

    headline = next(line for line in leaked.stdout.splitlines() if line.startswith(" VIOLATION  hostile:"))
    assert told.code == Exit.VIOLATION
    assert told.stdout.splitlines()[0] == headline


async def test_every_format_comes_from_the_database_with_one_exit_code(leaked: Finished, place: Workplace):
    """On standard output too, and then nothing else stands there."""
    (run_id,) = place.rows("SELECT run_id FROM runs")[0]
    for name in FORMATS:
        told = await place.invoke_beside("report", run_id, "--format", name)
        assert (name, told.code) == (name, Exit.VIOLATION)
        assert told.stdout
    assert json.loads((await place.invoke_beside("report", run_id, "--format", "sarif")).stdout)["version"] == "2.1.0"


async def test_several_at_once(leaked: Finished, place: Workplace):
    """`--report` takes what `prober run` takes."""
    folder = place.folder
    told = await place.invoke_beside(
        "report", "--report", f"junit={folder / 'j.xml'}", "--report", f"html={folder / 'h'}"
    )

    assert told.code == Exit.VIOLATION
    assert "<failure" in (folder / "j.xml").read_text()
    assert (folder / "h").read_text().startswith("<!DOCTYPE html>")


async def test_a_run_under_way_has_no_report(leaked: Finished, place: Workplace):
    """It is said that it has not ended, and the exit code is that of no verdict."""
    place.change("UPDATE runs SET ended_at = NULL, outcome = NULL")
    (run_id,) = place.rows("SELECT run_id FROM runs")[0]
    told = await place.invoke_beside("report", run_id)

    assert told.code == Exit.UNDECIDED
    assert re.search(r"run \S+ has not ended", told.stderr)
    assert (await place.invoke_beside("report")).code == Exit.USAGE


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no run in this database has ended"),
        (("--target", "hostile"), "no run of target hostile in this database has ended"),
        (("--target", "elsewhere"), "no target 'elsewhere'; there are: hostile"),
        (("run-9",), "there is no run 'run-9' in this database"),
        (("run-9", "--target", "hostile"), "a run or a target, not both"),
        (("--output", "/no/such/folder/x", "--format", "json"), "cannot be written"),
    ],
)
def test_what_is_not_there_is_said(arguments: tuple[str, ...], words: str, place: Workplace):
    """Unknown runs, empty databases and impossible files are mistakes of the caller."""
    place.configure("http://127.0.0.1:9/v1")
    told = place.invoke("report", *arguments)

    assert told.code == Exit.USAGE
    assert words in told.said
    assert "Traceback" not in told.said
