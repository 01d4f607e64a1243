"""Looking findings up."""

from prober.cli.exits import Exit
from tests.support.command import Finished, Workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import hostile


async def run_against(llm: FakeLlm, place: Workplace, *arguments: str, **target: object) -> Finished:
    async with hostile(llm.handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1", **target)
        return await place.invoke_beside("run", *arguments)


async def test_a_leaking_target_is_1_and_its_finding_can_be_looked_up(place: Workplace):
    """VIOLATION, said at once and in the report; `findings list` and `show` tell whose text it was."""
    finished = await run_against(FakeLlm(leaks=True), place)
    listed = await place.invoke_beside("findings", "list")
    number = next(line for line in listed.stdout.splitlines() if "foreign_canary" in line).split()[0]
    shown = await place.invoke_beside("findings", "show", number)

    assert finished.code == Exit.VIOLATION
    assert "held text of tenant alpha from its request baseline/000" in finished.said
    assert listed.code == shown.code == 0
    assert "sent by tenant alpha as baseline/000" in shown.stdout
    assert "clean" not in listed.stdout


def test_a_finding_that_is_not_there_is_2(place: Workplace):
    """A wrong number is a wrong command line."""
    place.configure("http://127.0.0.1:9/v1")
    finished = place.invoke("findings", "show", "4711")

    assert finished.code == Exit.USAGE
    assert "there is no finding 4711" in finished.stderr


def test_no_findings_is_said_in_words(place: Workplace):
    """An empty list does not look like a failure to list."""
    place.configure("http://127.0.0.1:9/v1")
    finished = place.invoke("findings", "list")

    assert finished.code == 0
    assert "no findings worse than inconclusive" in finished.stdout


async def test_a_narrow_screen_cuts_nothing_off(place: Workplace):
    """A number that cannot be read cannot be looked up: rows run over the edge, in a pipe as on a small terminal."""
    await run_against(FakeLlm(leaks=True), place)
    wide = await place.invoke_beside("findings", "list")
    narrow = await place.invoke_beside("findings", "list", environment={"COLUMNS": "40"})

    assert "foreign_canary" in wide.stdout
    assert narrow.stdout == wide.stdout


async def test_a_donor_that_was_pruned_is_told_from_one_that_never_was(place: Workplace):
    """Without its probe a canary's sender is unknown; the date says whether it may have been known once."""
    await run_against(FakeLlm(leaks=True), place)
    listed = await place.invoke_beside("findings", "list")
    number = next(line for line in listed.stdout.splitlines() if "foreign_canary" in line).split()[0]
    place.change("UPDATE probes SET probe_number = probe_number + 1")
    never = await place.invoke_beside("findings", "show", number)
    place.change("INSERT INTO pruned VALUES ('runs', '2026-01-02 03:04:05.000000', 9, '2026-02-01 00:00:00.000000')")
    gone = await place.invoke_beside("findings", "show", number)

    assert "not sent by any run in this database" in never.stdout
    assert "pruned" not in never.stdout
    assert "not sent by any run in this database; canaries up to 2026-01-02 03:04:05Z are pruned" in gone.stdout
