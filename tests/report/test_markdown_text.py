"""Markdown that no value can break, judged by rules of CommonMark and of GitHub."""

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from prober.report.harmless import harmless
from prober.report.markdown_text import block, code, link, prose, table

ANY = st.text(st.sampled_from("ab `|<>&*_[]()!#@:/\\~$\n-w."), max_size=30) | st.text(max_size=30).map(harmless)


@given(ANY)
def test_prose_holds_no_markup(text: str):
    """What could open a tag, link, image, code span, emphasis, cell or mention is gone; the words are the same."""
    shown = prose(text)
    bare = re.sub(r"&#\d+;|<!-- -->", "", shown)

    assert not set(bare) & set("<>`*[]|\\~$!&")
    assert "://" not in bare
    assert not re.search(r"[@#]\w", shown.replace("&#", ""))
    assert html.unescape(shown.replace("<!-- -->", "")) == " ".join(text.split())


@given(ANY)
def test_a_code_span_ends_where_it_should(text: str):
    """The fence is longer than any run of ticks within, so nothing of the text stands outside."""
    shown = code(text)
    if not text.split():
        assert shown == ""
        return
    fence = re.match(r"`+", shown)[0]
    inner = shown[len(fence) : -len(fence)]

    assert shown.endswith(fence)
    assert all(run != fence for run in re.findall(r"`+", inner.strip(" ")))
    assert "|" not in inner.replace("\\|", "")


@given(st.text(max_size=80))
def test_a_block_ends_where_it_should(text: str):
    """No line within closes the fence."""
    lines = block(text, "console").split("\n")
    fence = re.match(r"`+", lines[0])[0]

    assert lines[-1] == fence
    assert not any(line.strip().startswith(fence) for line in lines[1:-1])


def test_a_table_and_a_link():
    """Rows of cells; an address that is not known gives the words alone."""
    assert table(("a", "b"), [("1", "2")]) == "| a | b |\n|---|---|\n| 1 | 2 |"
    assert link("x", "https://e.example/1") == "[x](<https://e.example/1>)"
    assert link("SGLang #1", "") == "SGLang #<!-- -->1"
