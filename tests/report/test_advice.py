"""What reports say about reasons and kinds is what the documents say."""

import pytest

from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Reason
from prober.report.advice import Source, advice_on, note_on
from tests.support.advice import DATA, sources, text


def test_the_data_are_those_of_the_documents():
    """After a change of docs/reasons.md or docs/fault-kinds.md: python -m tests.support.advice."""
    assert DATA.read_text(encoding="utf-8") == text()


@pytest.mark.parametrize("reason", Reason, ids=lambda reason: reason.value)
def test_every_reason_has_a_meaning_and_a_first_step(reason: Reason):
    """In plain words on one line, without markup."""
    advice = advice_on(reason)

    assert len(advice.meaning.split()) > 3
    assert advice.first
    assert not set("`\n") & set(advice.meaning + advice.first)


@pytest.mark.parametrize("kind", FaultKind, ids=lambda kind: kind.value)
def test_every_kind_has_its_mechanism_and_public_sources(kind: FaultKind):
    """Whoever gets a report can read of the like elsewhere; addresses are of public trackers."""
    note = note_on(kind)

    assert len(note.mechanism.split()) > 15
    assert note.not_to_be_taken_for
    assert all(source.url == "" or source.url.startswith("https://") for source in note.sources)
    assert note.sources or kind is FaultKind.MISROUTING


def test_the_incident_is_named_upstream():
    """The kind of the motivating incident leads to its issue."""
    url = "https://github.com/sgl-project/sglang/issues/30233"

    assert Source("SGLang #30233", url) in note_on(FaultKind.REJECTED_BUT_ADMITTED).sources


def test_a_number_belongs_to_the_project_named_before_it():
    """`SGLang #1, #2; vLLM #3` are three reports of two projects; an unknown project is told, not guessed."""
    assert [source["name"] for source in sources("SGLang #1, #2; fixes #4; vLLM #3, CVE-2025-1234")] == [
        "SGLang #1",
        "SGLang #2",
        "SGLang #4",
        "vLLM #3",
        "CVE-2025-1234",
    ]
    with pytest.raises(AssertionError, match="Elsewhere"):
        sources("Elsewhere #7")
