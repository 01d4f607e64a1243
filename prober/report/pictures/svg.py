"""Builds SVG safely: names are ours, every value and text is escaped."""

import importlib.resources
import re

from markupsafe import Markup, escape

from prober.domain.outcome import Outcome

WIDTH = 960.0
"""Of every picture, in its own units; pages scale it."""

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:-]*")
_IDENT = re.compile(r"[a-z][a-z0-9-]*")

Value = str | float


def element(name: str, /, *children: Markup | str, **attributes: Value | None) -> Markup:
    """Build an element; `class_` is `class`, `_` in names is `-`, attributes that are None are left out.

    Raises:
        ValueError: a name that is none of XML's.
    """
    named = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    for each in (name, *named):
        if not _NAME.fullmatch(each):
            message = f"{each!r} is no name of an element or attribute"
            raise ValueError(message)
    opened = Markup("").join(Markup(' {}="{}"').format(key, _shown(value)) for key, value in named.items())
    inner = Markup("").join(map(escape, children))
    return Markup("<{0}{1}>{2}</{0}>").format(name, opened, inner)


def text(x: float, y: float, words: str, *, class_: str = "label", anchor: str | None = None) -> Markup:
    """Write words at a place."""
    return element("text", words, x=x, y=y, class_=class_, text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Draw a line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def picture(ident: str, title: str, description: str, height: float, *content: Markup) -> Markup:
    """Frame a picture.

    Args:
        ident: unique in its page; small letters, digits and hyphens.
        title: what it shows.
        description: what is to be seen in it, for who does not see it.
        height: in the picture's units, of which it is 960 wide.
        content: back to front.
    """
    if not _IDENT.fullmatch(ident):
        message = f"{ident!r} is no id of a picture"
        raise ValueError(message)
    return element(
        "svg",
        element("title", title, id=f"{ident}-title"),
        element("desc", description, id=f"{ident}-desc"),
        *content,
        class_="picture",
        viewBox=f"0 0 {_shown(WIDTH)} {_shown(height)}",
        role="img",
        aria_labelledby=f"{ident}-title {ident}-desc",
    )


def outcome_class(outcome: Outcome | None) -> str:
    """Class that colours an outcome."""
    return "unjudged" if outcome is None else outcome.value


def legend(y: float, left: float, *outcomes: Outcome) -> Markup:
    """Name the colours of outcomes."""
    parts = []
    for place, outcome in enumerate(outcomes):
        x = left + place * 130.0
        parts.append(element("rect", x=x, y=y - 9.0, width=12.0, height=10.0, class_=f"fill {outcome.value}"))
        parts.append(text(x + 18.0, y, outcome.value))
    return element("g", *parts)


def stylesheet() -> str:
    """Read the style that pictures need, for light and dark."""
    return importlib.resources.files(__name__.rpartition(".")[0]).joinpath("pictures.css").read_text(encoding="utf-8")


def _shown(value: Value) -> str:
    """Numbers to a hundredth: finer is not seen, and makes texts differ."""
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
