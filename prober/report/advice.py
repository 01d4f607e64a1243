"""What the documents say about a reason and a kind of fault, for readers who have the report alone.

The data are made from docs/reasons.md and docs/fault-kinds.md (`python -m tests.support.advice`); a test holds them
together.
"""

import dataclasses
import functools
import importlib.resources
import json
from typing import Any

from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Reason


@dataclasses.dataclass(frozen=True, slots=True)
class Advice:
    """About one reason, in plain words."""

    meaning: str
    first: str
    """The first thing to do."""


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """A public report."""

    name: str
    """As people cite it: `SGLang #30233`."""
    url: str
    """Empty: its address is not known."""


@dataclasses.dataclass(frozen=True, slots=True)
class KindNote:
    """About one kind of fault, in plain words."""

    mechanism: str
    not_to_be_taken_for: str
    sources: tuple[Source, ...]


def advice_on(reason: Reason) -> Advice:
    """Tell what a reason means and what to do first."""
    entry = _data()["reasons"][reason.value]
    return Advice(meaning=entry["meaning"], first=entry["first"])


def note_on(kind: FaultKind) -> KindNote:
    """Tell how a kind of fault comes about, what looks like it, and who reported it."""
    entry = _data()["kinds"][kind.value]
    return KindNote(
        mechanism=entry["mechanism"],
        not_to_be_taken_for=entry["not_to_be_taken_for"],
        sources=tuple(Source(each["name"], each["url"]) for each in entry["sources"]),
    )


@functools.cache
def _data() -> dict[str, Any]:
    file = importlib.resources.files("prober.report").joinpath("data", "advice.json")
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return data
