"""The HTML report: one file, no script, no address, sound for those who do not see it."""

import dataclasses
import html.parser
import itertools
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.fault_kind import FaultKind
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.report.facts import facts_of
from prober.report.harmless import harmless
from prober.report.page import render
from tests.support.reports import a_clean_report, a_leak, a_probe_summary, a_report, report_of

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Outline(html.parser.HTMLParser):
    """Elements with their attributes, and text; a tag that closes another one fails."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def outline(report: RunReport) -> Outline:
    read = Outline()
    read.feed(render(facts_of(report)))
    read.close()
    assert read.open == []
    return read


def test_it_needs_nothing_else():
    """No script, no handler, no style attribute, no resource; links lead to public reports alone."""
    read = outline(a_report(findings=(a_leak(kinds=(FaultKind.REJECTED_BUT_ADMITTED,)),)))
    names = {name for _, attributes in read.elements for name in attributes}
    tags = {tag for tag, _ in read.elements}

    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "form", "base"}
    assert not names & {"src", "style", "srcset", "action", "background"}
    assert not [name for name in names if name.startswith("on")]
    addresses = [attributes["href"] for tag, attributes in read.elements if tag == "a"]
    assert addresses
    assert all(address.startswith("https://github.com/") for address in addresses)
    (policy,) = [each["content"] for tag, each in read.elements if tag == "meta" and "http-equiv" in each]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_it_is_sound_for_screen_readers_and_keyboards():
    """Language, title, headings in order, named regions, tables with headings, pictures with words."""
    read = outline(a_report())
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    levels = [int(tag[1]) for tag, _ in read.elements if re.fullmatch(r"h\d", tag)]

    assert len(ids) == len(set(ids))
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    for tag, attributes in read.elements:
        for each in (attributes.get("aria-labelledby") or "").split():
            assert each in ids
        if tag == "svg":
            assert attributes["role"] == "img"
            assert attributes["aria-labelledby"]
        if attributes.get("role") == "region":
            assert attributes["tabindex"] == "0"
            assert attributes["aria-labelledby"]
        if tag == "th":
            assert attributes["scope"] in {"col", "row"}
    assert ("html", {"lang": "en"}) in read.elements


def test_the_same_facts_stand_in_it():
    """Verdict, sentence, counts, rollout, scenarios, first steps."""
    words = " ".join(" ".join(outline(a_report()).words).split())

    for told in ("VIOLATION", "held text of tenant bravo", "9 probes, 8 conclusive, 7 clean", "42", "stop traffic"):
        assert told in words
    assert "Nothing" not in outline(a_clean_report()).words


def test_nothing_undecided_looks_clean():
    """The word and the colour of a verdict are its own."""
    text = render(facts_of(report_of(Outcome.INCONCLUSIVE)))

    assert '<span class="verdict inconclusive">INCONCLUSIVE</span>' in text
    assert 'class="verdict clean"' not in text


@settings(max_examples=25, deadline=None)
@given(st.text(st.characters(codec=None), min_size=1, max_size=30) | st.sampled_from(["<script>x</script>", '"><b>']))
def test_no_value_becomes_markup(text: str):
    """Names, messages and facts of any text add words, and no element or attribute."""

    def named(value: str) -> RunReport:
        report = a_report(
            findings=(a_leak(message=value),),
            probes=(a_probe_summary(tenant=value, request_id=value),),
            tenant_names={2: value},
        )
        return dataclasses.replace(report, run=dataclasses.replace(report.run, facts={value: value}, run_id=value))

    ours, theirs = outline(named("x")), outline(named(text))

    assert [tag for tag, _ in ours.elements] == [tag for tag, _ in theirs.elements]
    assert [sorted(each) for _, each in ours.elements] == [sorted(each) for _, each in theirs.elements]
    assert harmless(text).strip() in "".join(theirs.words)


def test_a_long_run_says_what_it_leaves_out():
    """A page of any run can be opened."""
    leaks = tuple(a_leak(probe_label=f"s/{number:05d}", sightings=()) for number in range(1_000))
    probes = tuple(a_probe_summary(label=f"s/{number:05d}") for number in range(1_000))
    text = render(facts_of(a_report(findings=leaks, probes=probes)))

    assert "800 further findings" in text
    assert "500 further requests" in text
    assert len(text) < 1_500_000
