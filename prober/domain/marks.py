"""The latest answers of a run, kept so that looking back is cheap and a history stays a frozen value."""

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

from prober.domain.mark import AnswerMark

CHUNK = 64
CAPACITY = 2_048

_KEYS: Mapping[str, Callable[[AnswerMark], Hashable]] = {
    "text": lambda mark: mark.text_sha256 or None,
    "response": lambda mark: mark.response_id,
    "series": lambda mark: None if mark.trial is None else mark.trial.series,
    "trial": lambda mark: None if mark.trial is None else (mark.trial.series, mark.trial.number),
    "missed": lambda mark: mark.is_recall_missed,
}
"""What marks are looked up by; None: not found under this key."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Chunk:
    """So many marks, indexed once and shared by all later histories."""

    marks: tuple[AnswerMark, ...]
    index: Mapping[tuple[str, Hashable], tuple[AnswerMark, ...]] = dataclasses.field(compare=False, repr=False)

    @classmethod
    def of(cls, marks: tuple[AnswerMark, ...]) -> "_Chunk":
        index: dict[tuple[str, Hashable], tuple[AnswerMark, ...]] = {}
        for mark in marks:
            for kind, key_of in _KEYS.items():
                key = key_of(mark)
                if key is not None:
                    index[kind, key] = (*index.get((kind, key), ()), mark)
        return cls(marks, index)


@dataclasses.dataclass(frozen=True, slots=True)
class Marks:
    """Marks of at least the latest `CAPACITY` answers, oldest first; older ones go, a chunk at a time.

    `added` copies at most `CHUNK` references and one per chunk, so that thousands of versions that differ by one mark
    each, as the evidence of a run holds them, cost a few hundred bytes apiece. Look-ups give the newest first.
    """

    sealed: tuple[_Chunk, ...] = ()
    latest: tuple[AnswerMark, ...] = ()
    """Fewer than `CHUNK`, newer than those in chunks."""

    @classmethod
    def of(cls, marks: Iterable[AnswerMark]) -> "Marks":
        """Hold these, given oldest first."""
        held = cls()
        for mark in marks:
            held = held.added(mark)
        return held

    def added(self, mark: AnswerMark) -> "Marks":
        """Return what is held once this one came; self stays as it is."""
        latest = (*self.latest, mark)
        if len(latest) < CHUNK:
            return Marks(self.sealed, latest)
        kept = self.sealed[-(CAPACITY // CHUNK) + 1 :]
        return Marks((*kept, _Chunk.of(latest)), ())

    def __len__(self) -> int:
        """Marks held."""
        return CHUNK * len(self.sealed) + len(self.latest)

    def __iter__(self) -> Iterator[AnswerMark]:
        """Oldest first."""
        for chunk in self.sealed:
            yield from chunk.marks
        yield from self.latest

    def __reversed__(self) -> Iterator[AnswerMark]:
        """Newest first."""
        yield from reversed(self.latest)
        for chunk in reversed(self.sealed):
            yield from reversed(chunk.marks)

    def of_text(self, text_sha256: str) -> Iterator[AnswerMark]:
        """Answers to this very prompt text; none for an empty hash."""
        return self._find("text", text_sha256 or None)

    def of_response(self, response_id: str) -> Iterator[AnswerMark]:
        """Answers that came under this response id."""
        return self._find("response", response_id)

    def of_series(self, series: str) -> Iterator[AnswerMark]:
        """Answers of a series of trials."""
        return self._find("series", series)

    def of_trial(self, series: str, number: int) -> Iterator[AnswerMark]:
        """Fellows of one trial."""
        return self._find("trial", (series, number))

    def of_recall(self, *, is_missed: bool) -> Iterator[AnswerMark]:
        """Fair trials of recall that ended so."""
        return self._find("missed", is_missed)

    def _find(self, kind: str, key: Hashable) -> Iterator[AnswerMark]:
        if key is None:
            return
        key_of = _KEYS[kind]
        for mark in reversed(self.latest):
            if key_of(mark) == key:
                yield mark
        for chunk in reversed(self.sealed):
            yield from reversed(chunk.index.get((kind, key), ()))


NO_MARKS = Marks()
