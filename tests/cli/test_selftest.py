"""The self-test's exit code and list; the cases themselves are run by the system tests."""

import dataclasses
from collections.abc import AsyncIterator, Sequence

import pytest

from prober.service.selftest import CASES, Case, Checked
from tests.support.command import Finished, invoke
from tests.support.reports import a_report

FIRST, SECOND = CASES[0].name, CASES[1].name


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settled(Checked):
    """A case whose success is settled beforehand."""

    is_right: bool

    @property
    def is_met(self) -> bool:
        return self.is_right


def selftest(monkeypatch: pytest.MonkeyPatch, *arguments: str, missed: Sequence[str] = ()) -> Finished:
    """Every case is met but those named."""

    async def check(*, cases: Sequence[Case], **_arguments: object) -> AsyncIterator[Case | Checked]:
        for case in cases:
            yield case
            yield Settled(case=case, report=a_report(), is_right=case.name not in missed)

    monkeypatch.setattr("prober.cli.selftest.check", check)
    return invoke("selftest", *arguments)


def test_a_missed_case_fails_and_is_named(monkeypatch: pytest.MonkeyPatch):
    """A pipeline stops at a prober that would miss a fault, or cry wolf; every case stands on a line of its own."""
    finished = selftest(monkeypatch, missed=[SECOND])

    assert finished.code == 1
    assert f"MISSED {SECOND}: VIOLATION" in finished.stdout
    assert f"ok     {FIRST}: VIOLATION" in finished.stdout
    assert f"1 missed: {SECOND}" in finished.stdout
    assert sum(line.startswith(("ok ", "MISSED ")) for line in finished.stdout.splitlines()) == len(CASES)


def test_right_verdicts_are_0(monkeypatch: pytest.MonkeyPatch):
    """Only the cases asked for are run, in the order asked."""
    finished = selftest(monkeypatch, "--case", SECOND, "--case", FIRST)

    assert finished.code == 0
    lines = finished.stdout.splitlines()
    assert [line.split(":")[0] for line in lines[:2]] == [f"ok     {SECOND}", f"ok     {FIRST}"]
    assert lines[-1] == "every verdict is right"


def test_an_unknown_case_is_2_and_the_known_ones_can_be_told_apart(monkeypatch: pytest.MonkeyPatch):
    """Names hold commas, so a list of them uses something else."""
    finished = selftest(monkeypatch, "--case", "nightmare")

    assert finished.code == 2
    assert f"no case 'nightmare'; there are: {'; '.join(case.name for case in CASES)}" in finished.said
