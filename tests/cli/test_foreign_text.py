"""Foreign text on a terminal."""

from hypothesis import given
from hypothesis import strategies as st

from prober.cli.foreign_text import harmless_lines


def test_escape_sequences_are_shown_not_obeyed():
    """Neither colours, cursor moves, titles, bells nor carriage returns reach the terminal."""
    hostile = "\x1b[2J\x1b]0;owned\x07ok\rgone\x9b31m\x08"

    assert list(harmless_lines(hostile)) == [r"| \x1b[2J\x1b]0;owned\x07ok\x0dgone\x9b31m\x08"]


def test_marks_that_hide_or_turn_text_are_shown():
    """Text that reads otherwise than it stands misleads whoever judges the evidence."""
    assert list(harmless_lines("a\u202eb\u200bc\ufeffd\U000e0041\ud800")) == [
        r"| a\u202eb\u200bc\ufeffd\U000e0041\ud800"
    ]


def test_each_line_bears_the_mark():
    """Foreign text cannot pretend to be a line of ours."""
    assert list(harmless_lines("one\nfinding 7, content\u2028two\n")) == [
        "| one",
        r"| finding 7, content\u2028two",
        "| ",
    ]


@given(st.text(st.characters(codec=None), max_size=100))
def test_nothing_but_what_is_seen_is_printed(text: str):
    """Any text comes out printable, each line behind its mark, and ordinary characters as they were."""
    lines = list(harmless_lines(text))

    assert all(line.isprintable() or line.replace("\u00a0", "").replace("\u3000", "") for line in lines)
    assert all(line.startswith("| ") and not set(line) & {"\x1b", "\r", "\n", "\x9b", "\x07"} for line in lines)
    assert len(lines) == text.count("\n") + 1


def test_other_writing_stays_as_it_is():
    """Evidence in any language can be read."""
    text = "Ärzte 医者 врач \u0627 naïve"
    assert list(harmless_lines(text)) == [f"| {text}"]
