import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.endpoint.sse import EventDecoder, ServerEvent


def decode(*chunks: bytes, limit: int = 1 << 20) -> list[ServerEvent]:
    decoder = EventDecoder(limit)
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.finish()


def data_of(*chunks: bytes) -> list[bytes]:
    return [event.data for event in decode(*chunks)]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_line_end_of_the_standard_ends_a_line(end: bytes):
    """LF, CR and CRLF end lines."""
    assert data_of(b"data: a" + end + end + b"data: b" + end + end) == [b"a", b"b"]


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e"])
def test_no_other_mark_ends_a_line(mark: str):
    """Marks that text splitters take for line ends belong to the data."""
    payload = f"one{mark}two".encode()
    assert data_of(b"data: " + payload + b"\n\n") == [payload]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data\n\n", [b""]),
        (b": ping\n\n: keep-alive\n\ndata: a\n\n", [b"a"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"id: 7\nretry: 10\ndata: a\n\n", [b"a"]),
        (b"\n\n\n", []),
        (b"event: ping\n\n", []),
        (b"", []),
    ],
)
def test_fields_follow_the_standard(stream: bytes, expected: list[bytes]):
    """Data lines join, one blank after the colon goes, comments and empty events vanish, a leading BOM is skipped."""
    assert data_of(stream) == expected


def test_event_names_belong_to_one_event_only():
    """A name counts for its own event and is forgotten after it."""
    events = decode(b"event: error\ndata: a\n\ndata: b\n\nevent: x\n\ndata: c\n\n")
    assert [(event.name, event.data) for event in events] == [("error", b"a"), ("", b"b"), ("", b"c")]


@pytest.mark.parametrize("tail", [b"", b"\n", b"\r"])
def test_missing_blank_line_at_the_end_loses_nothing(tail: bytes):
    """What came before the end of input is an event, blank line or not."""
    assert data_of(b"data: a\n\ndata: last" + tail) == [b"a", b"last"]


def test_line_of_no_known_field_is_shown_as_stray():
    """A bare JSON line, as some gateways print errors, is not swallowed."""
    (stray, event) = decode(b'{"error": 1}\ndata: a\n\n')
    assert stray.is_stray
    assert stray.data == b'{"error": 1}'
    assert event.data == b"a"


@pytest.mark.parametrize(
    "stream",
    [
        b"data: " + b"x" * 100 + b"\n\ndata: ok\n\n",
        b"".join(b"data: xxxxxxxxx\n" for _ in range(10)) + b"\ndata: ok\n\n",
        b": " + b"x" * 100 + b"\n\ndata: ok\n\n",
    ],
    ids=["line", "lines", "comment"],
)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_oversized_event_is_dropped_and_the_next_one_read(stream: bytes, size: int):
    """An event above the bound costs bounded memory and is reported; decoding goes on behind it."""
    decoder = EventDecoder(50)
    events = []
    for start in range(0, len(stream), size):
        events += decoder.feed(stream[start : start + size])
        assert len(decoder._pending) <= 50
    events += decoder.finish()
    assert [(event.is_oversized, event.data) for event in events] == [(True, b""), (False, b"ok")]


_pieces = st.sampled_from(
    [
        b"data: ",
        b"data:",
        b"event: ",
        b"id: 1",
        b": c",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"{",
        "é\u2028".encode(),
        b"x",
        b"\xef\xbb\xbf",
    ]
)


@pytest.mark.no_coverage
@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.lists(st.one_of(_pieces, st.binary(max_size=6)), max_size=25).map(b"".join), st.data())
def test_any_chunking_decodes_like_the_whole(stream: bytes, data: st.DataObject):
    """Where the network cuts the bytes does not change the events."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    edges = [0, *cuts, len(stream)]
    chunks = [stream[a:b] for a, b in itertools.pairwise(edges)]
    assert decode(*chunks) == decode(stream)
    assert decode(*(stream[i : i + 1] for i in range(len(stream)))) == decode(stream)
