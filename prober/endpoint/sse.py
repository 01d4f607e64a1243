"""Server-sent events from bytes, without I/O.

Text-level line splitters end lines at U+2028, U+0085 and other marks that answers may hold; here only LF, CR and CRLF
end a line (WHATWG HTML, section 9.2.6).
"""

import dataclasses
import re

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_IGNORED_FIELDS = frozenset({b"id", b"retry"})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ServerEvent:
    """One dispatched event."""

    data: bytes = dataclasses.field(repr=False)
    """Data lines joined by LF; empty when `is_oversized`."""
    name: str = ""
    is_stray: bool = False
    """A line of no known field, which the standard ignores; `data` is that line. Some gateways print errors so."""
    is_oversized: bool = False
    """Passed the bound and was dropped."""


class EventDecoder:
    """Decode a byte stream in any chunking; memory is bounded by `max_event_bytes` plus one chunk."""

    def __init__(self, max_event_bytes: int = 1 << 20) -> None:
        self._max_event_bytes = max_event_bytes
        self._pending = bytearray()
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._name = ""
        self._is_first_line = True
        self._is_after_cr = False
        self._is_oversized = False

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Take the next bytes; return the events they complete, in order."""
        if self._is_after_cr and chunk:
            self._is_after_cr = False
            chunk = chunk.removeprefix(b"\n")
        events: list[ServerEvent] = []
        start = 0
        for end in _LINE_END.finditer(chunk):
            self._pend(chunk[start : end.start()])
            self._end_line(events)
            start = end.end()
        if start and chunk[start - 1 : start] == b"\r" and start == len(chunk):
            self._is_after_cr = True
        self._pend(chunk[start:])
        return events

    def finish(self) -> list[ServerEvent]:
        """End of input: return what an unfinished last line or a missing blank line held back."""
        events: list[ServerEvent] = []
        if self._pending:
            self._end_line(events)
        self._dispatch(events)
        return events

    def _pend(self, piece: bytes) -> None:
        if len(self._pending) + self._data_bytes + len(piece) > self._max_event_bytes:
            self._is_oversized = True
            self._data = []
            self._data_bytes = 0
        if not self._is_oversized:
            self._pending += piece
        elif piece:
            # One byte tells the blank line that ends the event from a line whose content is dropped.
            self._pending[:] = b":"

    def _end_line(self, events: list[ServerEvent]) -> None:
        line = bytes(self._pending)
        self._pending.clear()
        if self._is_first_line:
            self._is_first_line = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            self._dispatch(events)
        elif not self._is_oversized:
            self._take_field(line, events)

    def _take_field(self, line: bytes, events: list[ServerEvent]) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._data_bytes += len(value) + 1
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field and field not in _IGNORED_FIELDS:
            events.append(ServerEvent(data=line, is_stray=True))

    def _dispatch(self, events: list[ServerEvent]) -> None:
        if self._is_oversized:
            events.append(ServerEvent(data=b"", name=self._name, is_oversized=True))
        elif self._data:
            events.append(ServerEvent(data=b"\n".join(self._data), name=self._name))
        self._data = []
        self._data_bytes = 0
        self._name = ""
        self._is_oversized = False
