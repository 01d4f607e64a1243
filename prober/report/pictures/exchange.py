"""One exchange drawn to scale: when the request had arrived, when the first token came, when it ended."""

from collections.abc import Sequence

from markupsafe import Markup

from prober.domain.outcome import Outcome
from prober.report.pictures.scale import Scale, short
from prober.report.pictures.svg import WIDTH, element, line, outcome_class, picture, text

_LEFT, _RIGHT, _TOP = 20.0, 20.0, 24.0
_BAR = 22.0
_ROW = 18.0
_LETTER = 7.0
"""Width of a letter at most."""


def draw_exchange(
    ident: str, marks: Sequence[tuple[str, float]], outcome: Outcome, floor: float | None = None
) -> Markup:
    """Draw what happened when.

    Args:
        ident: unique in its page.
        marks: names with seconds since the request began; at least one.
        outcome: of the exchange.
        floor: seconds below which no honest prefill of the prompt fits; None: no floor stands.
    """
    named = sorted(marks, key=lambda mark: mark[1])
    high = max(*(seconds for _, seconds in named), floor or 0.0, 1e-3)
    scale = Scale(low=0.0, high=high * 1.02, start=_LEFT, end=WIDTH - _RIGHT)
    end = scale(max(seconds for _, seconds in named))
    parts = [
        element("rect", x=_LEFT, y=_TOP, width=WIDTH - _LEFT - _RIGHT, height=_BAR, class_="lane"),
        element(
            "rect", x=_LEFT, y=_TOP, width=max(1.5, end - _LEFT), height=_BAR, class_=f"bar {outcome_class(outcome)}"
        ),
    ]
    if floor is not None:
        at = scale(floor)
        parts.append(element("line", x1=at, y1=_TOP - 8.0, x2=at, y2=_TOP + _BAR + 8.0, class_="floor"))
        parts.append(_label(at, _TOP - 12.0, f"floor {floor:.3f} s"))
    # Later ones higher: their lines stand to the right of what is written beside earlier ones.
    for row, (name, seconds) in enumerate(reversed(named)):
        at, bottom = scale(seconds), _TOP + _BAR + (row + 1) * _ROW
        parts += [line(at, _TOP, at, bottom - 10.0, "first-token"), _label(at, bottom, f"{name} {seconds:.3f} s")]
    below = _TOP + _BAR + (len(named) + 1) * _ROW
    for tick in scale.ticks():
        parts.append(text(scale(tick), below + 8.0, f"{short(tick)} s", anchor="middle"))
    told = ", ".join(f"{name} after {seconds:.3f} seconds" for name, seconds in named)
    if floor is not None:
        told += f"; no honest prefill fits below {floor:.3f} seconds"
    return picture(ident, "Timeline of the exchange", told, below + 18.0, *parts)


def _label(at: float, y: float, words: str) -> Markup:
    """Write beside a mark, on the side where there is room."""
    is_right = at + len(words) * _LETTER < WIDTH - _RIGHT
    return text(at + 4.0 if is_right else at - 4.0, y, words, anchor=None if is_right else "end")
