"""Limits on one axis of prompt tokens: what is advertised, what was enforced, what was found."""

import dataclasses
import enum
from collections.abc import Sequence

from markupsafe import Markup

from prober.domain.outcome import Outcome
from prober.report.pictures.scale import Scale, short
from prober.report.pictures.svg import WIDTH, element, legend, line, outcome_class, picture, text

MOST_DOTS = 1_000

_LEFT, _RIGHT, _TOP, _ROW = 250.0, 110.0, 44.0, 26.0


class MarkKind(enum.Enum):
    """Who says that a limit lies there. The value is the class that colours it."""

    ADVERTISED = "advertised"
    ENFORCED = "enforced"
    FOUND = "found"
    WRONG = "wrong"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One limit."""

    name: str
    tokens: int
    kind: MarkKind


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One prompt that was judged."""

    tokens: int
    outcome: Outcome


def draw_limits(ident: str, marks: Sequence[Mark], dots: Sequence[Dot]) -> Markup:
    """Draw each limit in a row of its own, so that no two labels meet, under the prompts that were sent."""
    farthest = max([*(mark.tokens for mark in marks), *(dot.tokens for dot in dots), 1])
    scale = Scale(low=0.0, high=farthest * 1.02, start=_LEFT, end=WIDTH - _RIGHT)
    shown = sorted(dots, key=lambda dot: dot.outcome.rank)[-MOST_DOTS:]
    bottom = _TOP + len(marks) * _ROW
    parts = [text(_LEFT - 12.0, 24.0, "prompts sent", anchor="end"), _axis(scale, bottom)]
    parts += [
        element("circle", cx=scale(dot.tokens), cy=20.0, r=3.5, class_=f"dot {outcome_class(dot.outcome)}")
        for dot in shown
    ]
    parts += [_mark(mark, scale, _TOP + place * _ROW) for place, mark in enumerate(marks)]
    told = "; ".join(f"{mark.name}: {mark.tokens:,} tokens" for mark in marks) or "no limit is known"
    parts.append(legend(bottom + 44.0, _LEFT, *reversed(Outcome)))
    return picture(ident, "Limits in prompt tokens", told, bottom + 54.0, *parts)


def _mark(mark: Mark, scale: Scale, y: float) -> Markup:
    x, middle = scale(mark.tokens), y + _ROW / 2
    return element(
        "g",
        element("title", f"{mark.name}: {mark.tokens:,} tokens"),
        text(_LEFT - 12.0, middle + 4.0, mark.name, anchor="end"),
        line(_LEFT, middle, x, middle, f"reach {mark.kind.value}"),
        element("circle", cx=x, cy=middle, r=5.0, class_=f"limit {mark.kind.value}"),
        text(x + 10.0, middle + 4.0, f"{mark.tokens:,}"),
    )


def _axis(scale: Scale, bottom: float) -> Markup:
    parts = []
    for tick in scale.ticks():
        x = scale(tick)
        parts += [line(x, 10.0, x, bottom, "grid"), text(x, bottom + 18.0, short(tick), anchor="middle")]
    return element("g", *parts)
