"""Reading JSON from peers that may send anything."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.endpoint import tolerant_json


@pytest.mark.parametrize(
    ("data", "decoded"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b"\xef\xbb\xbf[1]", [1]),
        (b"null", None),
        (b"", None),
        (b"{'a': 1}", None),
        (b"\xff\xfe\xfa", None),
        (b"1" * 5000, None),
        (b"[" * 200_000, None),
    ],
)
def test_decoding_never_raises(data: bytes, decoded: object):
    """What is no JSON is None, whatever is wrong with it."""
    assert tolerant_json.decode(data) == decoded


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.binary(max_size=64))
def test_any_bytes_decode_to_something(data: bytes):
    """No byte string makes decoding raise."""
    tolerant_json.decode(data)


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (0, 0),
        (681_274, 681_274),
        (40_000.0, 40_000),
        (0.5, None),
        (float("inf"), None),
        (float("nan"), None),
        (-1, None),
        (True, None),
        ("5", None),
        (None, None),
        (10**12, None),
    ],
)
def test_counts_are_whole_and_bounded(value: object, count: int | None):
    """A token count is a whole, non-negative, sane number; anything else was not reported."""
    assert tolerant_json.as_count(value) == count


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("é漢😀", "é漢😀"),
        ("a\ud83db", "a\ufffdb"),
        (5, "5"),
        (1.5, "1.5"),
        (True, ""),
        (None, ""),
        ({"a": 1}, ""),
    ],
)
def test_text_can_always_be_encoded(value: object, text: str):
    """Text is UTF-8 encodable, so that hashing an answer cannot fail; what is no text is empty."""
    assert tolerant_json.as_text(value) == text
    assert tolerant_json.as_text(value).encode() == text.encode()


@pytest.mark.parametrize(
    ("value", "text"), [({"a": "\ud800"}, '{"a": "\\ud800"}'), ([1, "x"], '[1, "x"]'), ("x", "x"), (None, "")]
)
def test_flat_text_writes_structures_out(value: object, text: str):
    """Arguments given as an object are read like arguments given as a string."""
    assert tolerant_json.as_flat_text(value) == text


def test_flat_text_of_endless_nesting_is_empty():
    """A structure too deep to write out is dropped instead of raising."""
    deep: list[object] = []
    for _ in range(200_000):
        deep = [deep]

    assert tolerant_json.as_flat_text(deep) == ""
    while deep:  # taken apart level by level: the collector would recurse
        deep = deep[0]


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("@cf/zai-org/glm-5.3", "@cf/zai-org/glm-5.3"),
        ("chatcmpl-1\r\nX: a", "sha256:cee36a854bc5a1f6"),
        ("x" * 500, "sha256:c38c2bf3055c516a"),
        (" ", None),
        ("", None),
        (7, None),
        (None, None),
    ],
)
def test_labels_are_bounded_identifiers(value: object, label: str | None):
    """Ids and names from a peer are kept where they can only be such; all else is known by its hash."""
    assert tolerant_json.as_label(value) == label


@pytest.mark.parametrize("value", [{}, {"a": 1}, [], [1], "x", 5, None])
def test_containers_of_another_kind_are_empty(value: object):
    """Objects and arrays are what they are; every other value stands for an empty one."""
    assert tolerant_json.as_map(value) == (value if isinstance(value, dict) else {})
    assert list(tolerant_json.as_items(value)) == (value if isinstance(value, list) else [])
    assert json.dumps(tolerant_json.as_map(value))
