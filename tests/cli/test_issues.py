"""Issues on the command line."""

from pathlib import Path

import pytest

from prober.cli.exits import Exit
from tests.cli.test_findings import run_against
from tests.support.command import Workplace, workplace
from tests.support.fake_llm import FakeLlm


@pytest.fixture
async def found(place: Workplace) -> Workplace:
    """A folder whose target leaked."""
    await run_against(FakeLlm(leaks=True), place)
    return place


async def leak(place: Workplace) -> str:
    """Number of the issue of the leak."""
    listed = await place.invoke_beside("findings", "issues")
    return next(line for line in listed.stdout.splitlines() if "foreign_canary" in line).split()[0]


async def test_a_leak_opens_an_issue_that_goes_its_way(found: Workplace):
    """Listed, taken in hand, noted, suppressed, resolved: each step said, and kept with who and why."""
    number = await leak(found)
    steps = [
        ("ack", number, "--by", "ann", "--note", "looking into it"),
        ("note", number, "see the [bold]post-mortem[/bold]", "--by", "bob"),
        ("suppress", number, "--until", "2999-12-24", "--by", "cleo"),
        ("resolve", number, "--by", "dora"),
    ]
    said = [(await found.invoke_beside("findings", *step)).stdout.strip() for step in steps]
    shown = await found.invoke_beside("findings", "issue", number)

    assert said == [
        f"issue {number} is acknowledged",
        f"issue {number} is acknowledged",
        f"issue {number} is suppressed until 2999-12-24 00:00:00Z",
        f"issue {number} is resolved",
    ]
    assert shown.code == 0
    assert f"issue {number}: VIOLATION foreign_canary (foreign_canary) on hostile" in shown.stdout
    history = [line.split("  ")[-1] for line in shown.stdout.splitlines() if "Z  " in line]
    assert [line.split()[0] for line in history] == ["opened", "acknowledged", "noted", "suppressed", "resolved"]
    assert history[0].endswith("(violation) by run " + history[0].split()[-1])
    assert history[1:] == [
        "acknowledged (violation) by ann: looking into it",
        "noted (violation) by bob: see the [bold]post-mortem[/bold]",
        "suppressed until 2999-12-24 00:00:00Z (violation) by cleo",
        "resolved (violation) by dora",
    ]


async def test_issues_are_filtered(found: Workplace):
    """By target and state; nothing found is said in words."""
    number = await leak(found)
    await found.invoke_beside("findings", "resolve", number)
    open_ones = await found.invoke_beside("findings", "issues", "--state", "open")
    resolved = await found.invoke_beside("findings", "issues", "--state", "resolved", "--target", "hostile")
    nowhere = await found.invoke_beside("findings", "issues", "--target", "elsewhere")

    assert number not in [line.split()[0] for line in open_ones.stdout.splitlines()]
    assert [line.split()[0] for line in resolved.stdout.splitlines()[1:]] == [number]
    assert (nowhere.code, nowhere.stdout.strip()) == (0, "no issues")


async def test_who_does_it_is_the_user_at_the_terminal(found: Workplace):
    """Unless a name is given."""
    number = await leak(found)
    await found.invoke_beside("findings", "ack", number, environment={"LOGNAME": "erin"})

    assert "acknowledged (violation) by erin" in (await found.invoke_beside("findings", "issue", number)).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("issue", "4711"), "there is no issue 4711"),
        (("ack", "4711"), "there is no issue 4711"),
        (("resolve", "4711"), "there is no issue 4711"),
        (("note", "4711", "words"), "there is no issue 4711"),
        (("note", "4711", " "), "an empty note says nothing"),
        (("suppress", "4711", "--until", "2999-01-01T12:00"), "there is no issue 4711"),
        (("suppress", "4711", "--until", "2020-01-01"), "must be in the future"),
        (("suppress", "4711", "--until", "soon"), "does not match the formats"),
    ],
)
def test_what_cannot_be_done_is_2(tmp_path: Path, arguments: tuple[str, ...], message: str):
    """A wrong number or date is a wrong command line."""
    place = workplace(tmp_path).configure("http://127.0.0.1:9/v1")
    finished = place.invoke("findings", *arguments)

    assert finished.code == Exit.USAGE
    assert message in finished.said.replace("│ ", "")
