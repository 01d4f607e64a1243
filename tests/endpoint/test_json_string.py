"""Text as a JSON string, slice by slice."""

import json
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.endpoint import json_string as module
from prober.endpoint.json_string import SLICE_CHARACTERS, json_string

ANY_TEXT = st.text(st.characters(), max_size=40)
"""Lone surrogates and characters beyond the basic plane included."""


@settings(derandomize=True, max_examples=200, deadline=None)
@given(text=ANY_TEXT, slice_characters=st.integers(1, 7))
def test_bytes_are_those_of_the_standard_encoder(text: str, slice_characters: int):
    """Whatever the text and wherever it is cut, the bytes are those of `json.dumps`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SLICE_CHARACTERS", slice_characters)

        assert b"".join(json_string(text)) == json.dumps(text).encode()


@pytest.mark.parametrize("length", [0, 1, SLICE_CHARACTERS - 1, SLICE_CHARACTERS, SLICE_CHARACTERS + 1])
def test_slices_are_bounded(length: int):
    """No piece holds more than one slice of text, and none is lost at the edges."""
    pieces = list(json_string("a" * length))

    assert b"".join(pieces) == b'"' + b"a" * length + b'"'
    assert max(map(len, pieces)) <= max(1, SLICE_CHARACTERS)


def test_other_threads_get_their_turn():
    """While megabytes are encoded, another thread runs between slices, long before the encoding has ended."""
    turns = 0
    is_over = threading.Event()

    def count_turns() -> None:
        nonlocal turns
        while not is_over.is_set():
            turns += 1
            is_over.wait(0.0001)

    interval = sys.getswitchinterval()
    # Longer than the encoding takes: turns can only come from what is offered.
    sys.setswitchinterval(60)
    counter = threading.Thread(target=count_turns)
    try:
        counter.start()
        before = turns
        for _ in json_string("word\n" * 1_000_000):
            pass
        during = turns - before
    finally:
        sys.setswitchinterval(interval)
        is_over.set()
        counter.join()
    assert during >= 3
