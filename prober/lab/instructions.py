"""Plain-English requests that the simulated LLM understands."""

import dataclasses
import re

ANCHOR_WORDS = ("words", "phrase", "summarise", "summarize", "summary", "?")
"""Every request that is understood holds one of these; other lines need not be looked at."""

_PHRASE = re.compile(r"\bthe (\w+) phrase\b", re.IGNORECASE)
_ASKS = re.compile(r"\b(?:reply|answer|respond|repeat|state|give|tell|write|say|name)\b", re.IGNORECASE)
_COPY = re.compile(r"\b(?:copy|repeat|write out|quote) (?:out )?(?:the )?(?:last )?(\d{1,4}) words\b", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:before|above|preceding)\b", re.IGNORECASE)
_SUMMARY = re.compile(r"\b(?:summari[sz]e|a (?:short )?summary of)\b", re.IGNORECASE)
_QUESTION = re.compile(
    r"\b(?:what|who|where|when|which) (?:is|are|was|were) (?:the |a |an )?([\w ]{2,60})\?", re.IGNORECASE
)
_NEEDLE = re.compile(r"^The \w+ phrase is \w", re.IGNORECASE)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One understood request; its parts are answered in this order."""

    nouns: tuple[str, ...] = ()
    """"the X phrase": say the phrase that the text gives for X."""
    copy_words: int = 0
    """Copy so many words of the document's end, or of what stands before the request."""
    is_before_line: bool = False
    is_summary: bool = False
    subject: str = ""
    """"what is X?": say the sentence "X is ..."."""


def parse(line: str) -> Instruction | None:
    """Understand one line; None when it asks for nothing that is known."""
    if _NEEDLE.match(line):
        return None
    nouns = tuple(noun.lower() for noun in _PHRASE.findall(line)) if _ASKS.search(line) else ()
    copy = _COPY.search(line)
    question = _QUESTION.search(line)
    instruction = Instruction(
        nouns=nouns,
        copy_words=int(copy[1]) if copy else 0,
        is_before_line=bool(copy and _BEFORE.search(line)),
        is_summary=bool(_SUMMARY.search(line)),
        subject=question[1].strip() if question and not nouns else "",
    )
    return None if instruction in _NOTHING else instruction


_NOTHING = (Instruction(), Instruction(is_before_line=True))


def is_body(line: str) -> bool:
    """Tell whether a line belongs to the document: no needle sentence, no request, no padding (one word repeated)."""
    words = line.split()
    return len(set(words)) > 1 and not _NEEDLE.match(line) and parse(line) is None
