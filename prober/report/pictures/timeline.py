"""A run drawn to scale: which tenant's request was in flight when, and what became of it."""

import dataclasses
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from prober.domain.outcome import Outcome
from prober.report.pictures.scale import Scale, short
from prober.report.pictures.svg import WIDTH, element, legend, line, outcome_class, picture, text

MOST_BARS = 600
"""What is not clean is drawn first; of the rest an even share."""
MOST_ROWS = 8
"""Of one tenant; what is in flight beside them shares the last."""

_LEFT, _RIGHT, _TOP = 130.0, 20.0, 16.0
_ROW, _GAP = 11.0, 10.0
_LEAST = 1.5


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One request; times in seconds since the run began."""

    lane: str
    """Its tenant."""
    label: str
    start: float
    end: float
    first_token: float | None
    outcome: Outcome


def draw_timeline(ident: str, bars: Sequence[Bar], seconds: float) -> Markup:
    """Draw a run of `seconds`, one lane per tenant, in the order in which the tenants first appear."""
    shown = thinned(bars)
    scale = Scale(low=0.0, high=max(seconds, *(bar.end for bar in shown), 1e-3), start=_LEFT, end=WIDTH - _RIGHT)
    parts, y = [], _TOP
    for lane in dict.fromkeys(bar.lane for bar in shown):
        rows = packed(bar for bar in shown if bar.lane == lane)
        height = len(rows) * _ROW
        parts.append(element("rect", x=_LEFT, y=y, width=WIDTH - _RIGHT - _LEFT, height=height, class_="lane"))
        parts.append(text(_LEFT - 8.0, y + height / 2 + 4.0, lane, anchor="end"))
        parts.extend(_bar(bar, scale, y + number * _ROW) for number, row in enumerate(rows) for bar in row)
        y += height + _GAP
    axis = _axis(scale, y)
    left_out = len(bars) - len(shown)
    told = f"{len(bars):,} requests over {seconds:,.1f} seconds" + (
        f", {left_out:,} of them not drawn" * bool(left_out)
    )
    return picture(
        ident, "Timeline of the run", told, y + 52.0, axis, *parts, legend(y + 46.0, _LEFT, *reversed(Outcome))
    )


def thinned(bars: Sequence[Bar]) -> tuple[Bar, ...]:
    """Leave out what is too much: clean requests first, evenly; never more than `MOST_BARS`."""
    if len(bars) <= MOST_BARS:
        return tuple(bars)
    by_weight = sorted(range(len(bars)), key=lambda place: (-bars[place].outcome.rank, place))
    telling = [place for place in by_weight if bars[place].outcome is not Outcome.CLEAN][:MOST_BARS]
    rest = [place for place in range(len(bars)) if bars[place].outcome is Outcome.CLEAN]
    room = MOST_BARS - len(telling)
    even = [rest[len(rest) * number // room] for number in range(room)] if rest and room else []
    return tuple(bars[place] for place in sorted({*telling, *even}))


def packed(bars: Iterable[Bar]) -> list[list[Bar]]:
    """Put bars into as few rows as keep them apart, `MOST_ROWS` at most."""
    rows: list[list[Bar]] = []
    for bar in sorted(bars, key=lambda bar: (bar.start, bar.end)):
        free = next((row for row in rows if row[-1].end <= bar.start), None)
        if free is not None:
            free.append(bar)
        elif len(rows) < MOST_ROWS:
            rows.append([bar])
        else:
            rows[-1].append(bar)
    return rows


def _bar(bar: Bar, scale: Scale, y: float) -> Markup:
    x = scale(bar.start)
    width = max(_LEAST, scale(bar.end) - x)
    told = f"{bar.label}: {bar.outcome.value}, from {bar.start:,.2f} s to {bar.end:,.2f} s"
    parts = [
        element("rect", x=x, y=y + 1.0, width=width, height=_ROW - 2.0, class_=f"bar {outcome_class(bar.outcome)}")
    ]
    if bar.first_token is not None:
        at = scale(bar.first_token)
        told += f", first token at {bar.first_token:,.2f} s"
        parts.append(line(at, y + 1.0, at, y + _ROW - 1.0, "first-token"))
    return element("g", element("title", told), *parts)


def _axis(scale: Scale, bottom: float) -> Markup:
    parts = []
    for tick in scale.ticks():
        x = scale(tick)
        parts += [line(x, _TOP, x, bottom, "grid"), text(x, bottom + 14.0, f"{short(tick)} s", anchor="middle")]
    parts.append(text(WIDTH - _RIGHT, bottom + 28.0, "since the run began; thin marks are first tokens", anchor="end"))
    return element("g", *parts)
