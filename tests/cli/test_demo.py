"""The demo's exit code and last words; the demo itself is run by the system tests."""

from collections.abc import AsyncIterator

import pytest

from prober.domain.verdict import RunReport
from prober.service.demo import ACTS, Act, Played
from tests.support.command import invoke
from tests.support.reports import a_clean_report, a_report


@pytest.mark.parametrize(
    ("reports", "code", "words"),
    [
        ((a_report(), a_clean_report()), 0, "Act two: CLEAN, as it must be."),
        ((a_clean_report(), a_clean_report()), 1, "Act one: CLEAN, but it should have been VIOLATION."),
        ((a_report(), a_report()), 1, "Act two: VIOLATION, but it should have been CLEAN."),
    ],
    ids=["both", "nothing-found", "false-alarm"],
)
def test_the_demo_succeeds_only_if_act_one_finds_and_act_two_clears(
    monkeypatch: pytest.MonkeyPatch, reports: tuple[RunReport, ...], code: int, words: str
):
    """0 only when the prober told the incident's cluster from the repaired one."""

    async def play(**_arguments: object) -> AsyncIterator[Act | Played]:
        for act, report in zip(ACTS, reports, strict=True):
            yield act
            yield Played(act=act, report=report)

    monkeypatch.setattr("prober.cli.demo.play", play)
    finished = invoke("demo")

    assert finished.code == code
    assert words in finished.stdout
    assert finished.stdout.count("Act one") >= 2
