"""What the simulated LLM sees: token ids in page-table order, and how to find things in them."""

import dataclasses

import numpy as np
import numpy.typing as npt

from prober.lab.instructions import ANCHOR_WORDS, Instruction, is_body, parse
from prober.lab.tokenizer import FIRST_ORDINARY, NEWLINE, PADDING, Ids, Tokenizer

_TAIL_TOKENS = 64
_BODY_TOKENS = 8_192
"""How far back a copy looks for the words it was asked for."""
_LONGEST_SENTENCE = 24
_REMEMBERED_WORDS = 4_096


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An instruction and where its line starts."""

    instruction: Instruction
    position: int


class Lexicon:
    """Vocabulary numbers of words that are looked for, remembered: spelling a word out costs more than finding it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._pieces: dict[str, tuple[int, ...]] = {}

    def pieces(self, word: str) -> tuple[int, ...]:
        """Numbers of a word as it is and capitalised, without those that are not one piece."""
        known = self._pieces.get(word)
        if known is None:
            if len(self._pieces) >= _REMEMBERED_WORDS:
                self._pieces.clear()
            spelt = (self.tokenizer.encode(spelling) for spelling in dict.fromkeys((word, word.capitalize())))
            known = self._pieces[word] = tuple(int(ids[0]) >> 1 for ids in spelt if len(ids) == 1)
        return known


class Sight:
    """One view. It knows ids only: not which pages they came from, nor whose they are."""

    def __init__(self, ids: Ids, lexicon: Lexicon) -> None:
        self.ids = ids
        self._lexicon = lexicon
        self._tokenizer = lexicon.tokenizer
        self._numbers = ids >> 1
        self._edges = np.flatnonzero((ids == NEWLINE) | (ids < FIRST_ORDINARY))

    def __len__(self) -> int:
        """Tokens in view."""
        return len(self.ids)

    def last_request(self) -> Request | None:
        """The latest line that asks for something."""
        anchors = np.flatnonzero(self._is_any(self._numbers, *ANCHOR_WORDS))
        end = len(self.ids)
        for anchor in anchors[::-1].tolist():
            if anchor >= end:
                continue
            start, end = self._line(anchor)
            instruction = parse(self._tokenizer.decode(self.ids[start:end]).strip())
            if instruction:
                return Request(instruction=instruction, position=start)
            end = start
        return None

    def phrase(self, noun: str, before: int) -> tuple[str, int] | None:
        """Words and place of "the NOUN phrase is ...", the nearest before a position, else the last of all."""
        places = self._after(noun, "phrase", "is")
        if not places.size:
            return None
        earlier = places[places < before]
        place = int(earlier[-1] if earlier.size else places[-1])
        return self._sentence_end(place), place

    def sentence_about(self, subject: str) -> str | None:
        """The last sentence "SUBJECT is ..."."""
        places = self._after(*subject.split(), "is")
        return f"{subject} is {self._sentence_end(int(places[-1]))}" if places.size else None

    def body_before(self, position: int, words: int) -> list[str]:
        """The last words of the document before a line, in order."""
        collected: list[str] = []
        start = max(self._turn_start(position), position - _BODY_TOKENS)
        for line in reversed(self._tokenizer.decode(self.ids[start:position]).split("\n")):
            if is_body(line):
                collected[:0] = line.split()
            if len(collected) >= words:
                break
        return collected[-words:]

    def body_after(self, position: int, words: int) -> list[str]:
        """The first words of the document that a position belongs to."""
        start = self._turn_start(position)
        return self._tokenizer.decode(self.ids[start : min(position, start + 4 * words)]).split()[:words]

    @property
    def is_blank(self) -> bool:
        """The end of the view is mostly cleared memory."""
        tail = self.ids[-_TAIL_TOKENS:]
        return 2 * int((tail == PADDING).sum()) > len(tail)

    def continuation(self, tokens: int) -> Ids:
        """Continue by induction: copy on from the latest earlier place that reads like the end of the view.

        Where nothing reads alike, the end itself is repeated.
        """
        ids = self.ids[self.ids >= FIRST_ORDINARY]
        for width in (8, 4, 2, 1):
            if len(ids) <= width:
                continue
            places = np.flatnonzero(_matches(ids[:-1], ids[-width:]))
            if places.size:
                start = int(places[-1]) + width
                period = ids[start:]
                return np.resize(period, tokens).astype(np.int32)
        return np.resize(ids[-_TAIL_TOKENS:], tokens).astype(np.int32) if ids.size else ids

    def _after(self, *words: str) -> npt.NDArray[np.intp]:
        """Positions that follow these words, case-blind in the first letter."""
        found = np.ones(max(0, len(self.ids) - len(words)), dtype=bool)
        for offset, word in enumerate(words):
            found &= self._is_any(self._numbers[offset : offset + len(found)], word)
        return np.flatnonzero(found) + len(words)

    def _sentence_end(self, start: int) -> str:
        text = self._tokenizer.decode(self.ids[start : start + _LONGEST_SENTENCE])
        return text.split("\n", 1)[0].split(".", 1)[0].strip()

    def _line(self, position: int) -> tuple[int, int]:
        index = int(np.searchsorted(self._edges, position))
        start = int(self._edges[index - 1]) + 1 if index else 0
        return start, int(self._edges[index]) if index < len(self._edges) else len(self.ids)

    def _turn_start(self, position: int) -> int:
        """Where the chat turn that holds a position begins: after the nearest special token before it."""
        marks = np.flatnonzero(self.ids[:position] < FIRST_ORDINARY)
        return int(marks[-1]) + 1 if marks.size else 0

    def _is_any(self, numbers: Ids, *words: str) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(numbers), dtype=bool)
        for word in words:
            for piece in self._lexicon.pieces(word):
                found |= numbers == piece
        return found


def _matches(ids: Ids, pattern: Ids) -> npt.NDArray[np.bool_]:
    count = len(ids) - len(pattern) + 1
    found = np.ones(max(0, count), dtype=bool)
    for offset, number in enumerate(pattern):
        found &= ids[offset : offset + count] == number
    return found
