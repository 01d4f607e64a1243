"""Every format says the same of one run, and none says what it must not."""

import dataclasses
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from prober.domain.exits import FailOn, settle
from prober.domain.outcome import Outcome
from prober.report.facts import Facts, facts_of
from prober.report.formats import FORMATS, MEDIA_TYPES
from tests.support.reports import a_leak, a_probe_summary, a_report, a_trace, report_of

Told = tuple[str, int | None, tuple[int, int, int] | None]
"""Verdict, exit code, and probes, conclusive, clean; None where a format does not say."""


def counts(text: str) -> tuple[int, int, int]:
    found = re.search(r"([\d,]+) probes?, ([\d,]+) conclusive, ([\d,]+) clean", text)
    assert found, text
    return tuple(int(each.replace(",", "")) for each in found.groups())  # type: ignore[return-value]  # three groups


def of_json(text: str) -> Told:
    verdict = json.loads(text)["verdict"]
    return verdict["outcome"], verdict["exit_code"], (verdict["probes"], verdict["conclusive"], verdict["clean"])


def of_junit(text: str) -> Told:
    root = ET.fromstring(text)  # noqa: S314 - our own markup
    told = {each.get("name"): each.get("value") for each in root.iter("property")}
    return told["verdict"], int(told["exit_code"]), counts(told["counts"])


def of_sarif(text: str) -> Told:
    (run,) = json.loads(text)["runs"]
    (invocation,) = run["invocations"]
    told = run["properties"]
    return told["verdict"], invocation["exitCode"], (told["probes"], told["conclusive"], told["clean"])


def of_page(text: str) -> Told:
    verdict = re.search(r'<h1><span class="verdict \w+">(\w+)</span>', text)[1]
    code = int(re.search(r"Exit code</th><td>(\d+)<", text)[1])
    return verdict.lower(), code, counts(text)


def of_markdown(text: str) -> Told:
    verdict = re.match(r"## \S+ (\w+):", text)[1]
    return verdict.lower(), int(re.search(r"\| exit code \| (\d+) \|", text)[1]), counts(text)


def of_console(text: str) -> Told:
    return text.split(maxsplit=1)[0].lower(), None, counts(text)


def of_vendor(text: str) -> Told:
    return re.search(r"verdict ([A-Z]+)\. ", text)[1].lower(), None, counts(text)


READERS: dict[str, Callable[[str], Told]] = {
    "console": of_console,
    "json": of_json,
    "junit": of_junit,
    "sarif": of_sarif,
    "html": of_page,
    "markdown": of_markdown,
    "vendor": of_vendor,
}
"""A script sends requests and has no verdict to tell."""


def test_every_format_has_a_media_type_and_a_reader():
    """A new format stands in the table below, or fails it."""
    assert list(FORMATS) == list(MEDIA_TYPES) == [*READERS, "script"]


@pytest.mark.parametrize("fail_on", FailOn, ids=lambda each: each.value)
@pytest.mark.parametrize("is_about_run", [False, True])
@pytest.mark.parametrize("outcome", Outcome, ids=lambda each: each.value)
def test_exit_codes_verdict_words_and_counts_agree(outcome: Outcome, is_about_run: bool, fail_on: FailOn):  # noqa: FBT001
    """One table over all formats: whichever a reader takes, it is the same run."""
    report = report_of(outcome, is_about_run=is_about_run)
    facts = facts_of(report, fail_on)
    verdict = report.verdict

    told = {name: read(FORMATS[name](facts)) for name, read in READERS.items()}

    for word, code, numbers in told.values():
        assert word == outcome.value
        assert code in {None, settle(outcome, fail_on)}
        assert numbers == (verdict.probes, verdict.conclusive, verdict.clean)


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_facts_give_the_same_text(name: str):
    """To the letter, so that reports can be compared; ending in a line end, and such as any file takes."""
    text = FORMATS[name](facts_of(a_report()))

    assert text == FORMATS[name](facts_of(a_report()))
    assert text.endswith("\n")
    text.encode("utf-8")


def hostile(value: str) -> Facts:
    """Every string of a remote's, and of callers, is this one."""
    trace = a_trace(
        headers={"server": value, "cf-ray": value},
        model_reported=value,
        system_fingerprint=value,
        finish_reason=value,
        response_id=value,
        refusal_code=value,
    )
    report = a_report(
        probes=(a_probe_summary(request_id=value, trace=trace),),
        findings=(a_leak(message=value),),
        tenant_names={2: value},
    )
    return facts_of(dataclasses.replace(report, run=dataclasses.replace(report.run, facts={"image": value})))


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_of_a_remote_moves_a_terminal_or_hides(name: str):
    """No control character, no direction mark, no line of its own, in any format."""
    text = FORMATS[name](hostile("\x1b[31m\x9b2J\x07\x00\u202eevil\u2028\ud800\ufffe"))

    assert not set(text) & set("\x1b\x9b\x07\x00\u202e\u2028\ud800\ufffe\r")


@pytest.mark.parametrize("name", ["html", "junit"])
def test_nothing_of_a_remote_is_markup(name: str):
    """Tags of others stand there as words."""
    assert "<img" not in FORMATS[name](hostile("<img src=x onerror=alert(1)>"))


@pytest.mark.parametrize("name", ["markdown", "vendor"])
def test_nothing_of_a_remote_is_markdown(name: str):
    """Outside code spans no tag, link, image, heading, mention or cell of others stands there."""
    text = FORMATS[name](hostile("](x)<img src=x> ![i](y) @somebody |cell| `tick` https://evil.example"))
    outside = re.sub(r"(`+).+?\1", "", text)

    assert "<img" not in outside
    assert "![" not in outside
    assert "@somebody" not in outside
    assert "https://evil" not in outside
