"""Time to the first token against the prompt's length, with the floor that no honest prefill beats."""

import dataclasses
from collections.abc import Sequence

from markupsafe import Markup

from prober.domain.outcome import Outcome
from prober.report.pictures.scale import Scale, decades_around, short
from prober.report.pictures.svg import WIDTH, element, legend, line, outcome_class, picture, text

MOST_POINTS = 1_500

_LEFT, _RIGHT, _TOP, _BOTTOM = 90.0, 24.0, 16.0, 340.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One answer."""

    label: str
    tokens: int
    seconds: float
    """First token, since the request started."""
    outcome: Outcome
    is_anchor: bool = False
    """A verified prefill that the floor is made of."""


Floor = Sequence[tuple[int, float]]
"""Tokens and least seconds, by rising tokens; empty where no floor stands."""


def draw_prefill(ident: str, points: Sequence[Point], floor: Floor) -> Markup:
    """Draw both axes in equal ratios; what is not clean lies on top."""
    tokens = decades_around([*(float(point.tokens) for point in points), *(float(size) for size, _ in floor)])
    seconds = decades_around([*(point.seconds for point in points), *(least for _, least in floor)])
    across = Scale(low=tokens[0], high=tokens[1], start=_LEFT, end=WIDTH - _RIGHT, is_logarithmic=True)
    up = Scale(low=seconds[0], high=seconds[1], start=_BOTTOM, end=_TOP, is_logarithmic=True)
    shown = sorted(points, key=lambda point: point.outcome.rank)[-MOST_POINTS:]
    below = sum(point.outcome.rank >= Outcome.SUSPECT.rank for point in points)
    told = (
        f"{len(points):,} answers, {sum(point.is_anchor for point in points):,} of them anchors, "
        f"{below:,} suspect or worse; {'the floor is drawn' if floor else 'no floor stands'}"
    )
    return picture(
        ident,
        "First token against prompt tokens",
        told,
        _BOTTOM + 60.0,
        _axes(across, up),
        _floor(floor, across, up),
        *(_point(point, across, up) for point in shown),
        _legend(has_floor=bool(floor)),
    )


def _axes(across: Scale, up: Scale) -> Markup:
    parts = []
    for tick in across.ticks():
        x = across(tick)
        parts += [line(x, _TOP, x, _BOTTOM, "grid"), text(x, _BOTTOM + 16.0, short(tick), anchor="middle")]
    for tick in up.ticks():
        y = up(tick)
        parts += [
            line(_LEFT, y, WIDTH - _RIGHT, y, "grid"),
            text(_LEFT - 8.0, y + 4.0, f"{short(tick)} s", anchor="end"),
        ]
    parts.append(text(WIDTH - _RIGHT, _BOTTOM + 32.0, "prompt tokens", anchor="end"))
    return element("g", *parts)


def _floor(floor: Floor, across: Scale, up: Scale) -> Markup:
    if not floor:
        return Markup("")
    drawn = " ".join(f"{across(float(size)):.2f},{up(least):.2f}" for size, least in floor)
    return element("polyline", points=drawn, class_="floor")


def _point(point: Point, across: Scale, up: Scale) -> Markup:
    x, y = across(float(point.tokens)), up(point.seconds)
    told = f"{point.label}: {point.tokens:,} tokens, first token after {point.seconds:.3f} s, {point.outcome.value}"
    kind = f"dot {outcome_class(point.outcome)}"
    if point.is_anchor:
        size = 5.0
        corners = f"{x:.2f},{y - size:.2f} {x + size:.2f},{y:.2f} {x:.2f},{y + size:.2f} {x - size:.2f},{y:.2f}"
        return element("polygon", element("title", f"{told}, anchor"), points=corners, class_=f"{kind} anchor")
    return element("circle", element("title", told), cx=x, cy=y, r=3.5, class_=kind)


def _legend(*, has_floor: bool) -> Markup:
    y = _BOTTOM + 52.0
    parts = [legend(y, _LEFT, *reversed(Outcome)), text(_LEFT + 540.0, y, "\N{BLACK DIAMOND} anchor")]
    if has_floor:
        parts += [line(_LEFT + 640.0, y - 4.0, _LEFT + 670.0, y - 4.0, "floor"), text(_LEFT + 678.0, y, "floor")]
    return element("g", *parts)
