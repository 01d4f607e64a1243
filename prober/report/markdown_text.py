"""Markdown that no value can break: every word from outside is escaped or stands in a code span."""

import re
from collections.abc import Iterable, Sequence

_MARKS = re.compile(r"[&<>\\`*\[\]!|~$^{}=]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?!\s|$)")
"""Characters that can be markup where they stand: an underscore within a word and a colon at its end are none."""
_ADDRESS = re.compile(r"www\.", re.IGNORECASE)
_TICKS = re.compile(r"`+")


def prose(text: str) -> str:
    """Words within a line: no markup, no HTML, no link, no mention comes of them."""
    marked = _MARKS.sub(lambda found: f"&#{ord(found[0])};", " ".join(text.split()))
    unlinked = _ADDRESS.sub(lambda found: f"{found[0][:3]}&#46;", marked)
    return _split_mentions(unlinked)


def _split_mentions(text: str) -> str:
    """Part `@` and `#` from what follows: GitHub makes mentions of them after Markdown is read."""
    return re.sub(r"&#\d+;|[@#]", lambda found: found[0] if len(found[0]) > 1 else f"{found[0]}<!-- -->", text)


def code(text: str) -> str:
    """A code span, also within a table; an empty text gives nothing."""
    flat = " ".join(text.split())
    if not flat:
        return ""
    fence = "`" * (max((len(run) for run in _TICKS.findall(flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}".replace("|", "\\|")


def block(text: str, language: str = "") -> str:
    """A fenced block, whatever stands in it."""
    fence = "`" * max(3, max((len(run) for run in _TICKS.findall(text)), default=0) + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [f"| {' | '.join(headings)} |", f"|{'|'.join('---' for _ in headings)}|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def link(words: str, url: str) -> str:
    """A link to an address of ours; without one, the words."""
    return f"[{prose(words)}](<{url}>)" if url else prose(words)
