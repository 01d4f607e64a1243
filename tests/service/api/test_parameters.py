"""Types of what callers send and get."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from prober.service.api.parameters import Name, Note, Output, page_of

NUMBERS = st.lists(st.integers(1, 10**6), unique=True, max_size=30)


class Numbered(Output):
    number: int


@given(NUMBERS, st.integers(1, 10))
def test_pages_hold_each_entry_once(numbers: list[int], limit: int):
    """Reading on by `next` gives every entry once, in order, at most `limit` a page, and ends."""
    newest_first = sorted(numbers, reverse=True)
    seen: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        rest = [number for number in newest_first if not cursor or number < int(cursor)]
        page = page_of(rest[: limit + 1], limit, lambda number: Numbered(number=number), lambda number: number)
        assert len(page.items) <= limit
        seen += [item.number for item in page.items]
        cursor = page.next
    assert seen == newest_first


@given(st.text())
def test_names_hold_what_every_part_can_carry(text: str):
    """What passes stands in metrics, file names and addresses as it is."""
    try:
        name = TypeAdapter(Name).validate_python(text)
    except ValidationError:
        return
    assert name.isascii()
    assert name.replace("-", "").replace("_", "").isalnum()
    assert 1 <= len(name) <= 63


@pytest.mark.parametrize("note", ["", "two\nlines\tand a tab", "größer 💡", "x" * 1_000])
def test_notes_are_text_of_several_lines(note: str):
    """As people write them."""
    assert TypeAdapter(Note).validate_python(note) == note


@pytest.mark.parametrize("note", ["a\0b", "a\x1b[31mb", "a\x7fb", "a\x85b", "a\rb", "x" * 1_001])
def test_notes_drive_no_terminal(note: str):
    """No NUL, which no database stores, no control characters, no end without bound."""
    with pytest.raises(ValidationError):
        TypeAdapter(Note).validate_python(note)
