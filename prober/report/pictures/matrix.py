"""Whose text stood in whose answers: tenant by tenant."""

import dataclasses
from collections.abc import Sequence

from markupsafe import Markup

from prober.report.pictures.svg import WIDTH, element, picture, text

MOST_TENANTS = 24

_LEFT, _TOP, _ROW = 230.0, 66.0, 30.0
_WIDEST, _WIDE_ENOUGH = 110.0, 80.0
_MOST_LETTERS = 24


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Sightings of one tenant's text in another's answers, or of another of its own prompts in its own."""

    donor: str
    asker: str
    sightings: int
    bits: float
    """The strongest's."""


def draw_matrix(ident: str, donors: Sequence[str], askers: Sequence[str], cells: Sequence[Cell]) -> Markup:
    """Draw donors as rows and askers as columns; names beyond the first 24 of each are left out, and counted."""
    rows, columns = donors[:MOST_TENANTS], askers[:MOST_TENANTS]
    width = min(_WIDEST, (WIDTH - _LEFT - 20.0) / max(1, len(columns)))
    known = {(cell.donor, cell.asker): cell for cell in cells}
    stagger = 14.0 if width < _WIDE_ENOUGH else 0.0
    parts = [text(_LEFT, 18.0, "in the answers to"), text(_LEFT - 12.0, _TOP - 10.0, "text of", anchor="end")]
    parts += [
        text(_LEFT + (place + 0.5) * width, _TOP - 10.0 - stagger * (place % 2), _clipped(name, width), anchor="middle")
        for place, name in enumerate(columns)
    ]
    for row, donor in enumerate(rows):
        y = _TOP + row * _ROW
        parts.append(text(_LEFT - 12.0, y + 20.0, _clipped(donor, _LEFT), anchor="end"))
        parts += [
            _cell(known.get((donor, asker)), _LEFT + column * width, y, width, is_own=donor == asker)
            for column, asker in enumerate(columns)
        ]
    left_out = len(donors) - len(rows) + len(askers) - len(columns)
    height = _TOP + len(rows) * _ROW + 30.0
    if left_out:
        parts.append(text(_LEFT, height - 10.0, f"{left_out:,} names left out"))
    return picture(ident, "Whose text stood in whose answers", _told(cells), height, *parts)


def _cell(cell: Cell | None, x: float, y: float, width: float, *, is_own: bool) -> Markup:
    kind = "own" if is_own else "other"
    if cell is None or not cell.sightings:
        return element("rect", x=x + 1.0, y=y + 1.0, width=width - 2.0, height=_ROW - 2.0, class_=f"cell {kind}")
    told = f"{cell.donor} in {cell.asker}: {cell.sightings:,} sightings, up to {cell.bits:.0f} bits"
    return element(
        "g",
        element("title", told),
        element("rect", x=x + 1.0, y=y + 1.0, width=width - 2.0, height=_ROW - 2.0, class_=f"cell hit {kind}"),
        text(x + width / 2, y + 20.0, f"{cell.sightings:,}", class_="label on-hit", anchor="middle"),
    )


def _clipped(name: str, width: float) -> str:
    most = min(_MOST_LETTERS, max(3, int(width / 7.5)))
    return name if len(name) <= most else f"{name[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def _told(cells: Sequence[Cell]) -> str:
    seen = [cell for cell in cells if cell.sightings]
    if not seen:
        return "No tenant's text was seen where it does not belong"
    return "; ".join(
        f"text of {cell.donor} in answers to {cell.asker}: {cell.sightings:,}" for cell in seen[:MOST_TENANTS]
    )
