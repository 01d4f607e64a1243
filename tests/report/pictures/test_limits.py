"""Limits on one axis."""

import re

from prober.domain.outcome import Outcome
from prober.report.pictures.limits import MOST_DOTS, Dot, Mark, MarkKind, draw_limits


def test_each_limit_has_its_row_and_its_place():
    """No two labels can meet, places are to scale, and the description says all of it."""
    marks = [
        Mark(name="context advertised", tokens=1_000_000, kind=MarkKind.ADVERTISED),
        Mark(name="first length served wrongly", tokens=500_000, kind=MarkKind.WRONG),
    ]
    drawn = str(draw_limits("l", marks, [Dot(tokens=250_000, outcome=Outcome.CLEAN)]))
    places = [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="5"', drawn)]

    assert len({y for _, y in places}) == 2
    assert abs((places[0][0] - 250.0) / (places[1][0] - 250.0) - 2.0) < 0.01
    assert "context advertised: 1,000,000 tokens; first length served wrongly: 500,000 tokens" in drawn
    assert drawn.count('class="dot clean"') == 1


def test_without_limits_it_says_so():
    """An empty picture is a picture."""
    assert "no limit is known" in str(draw_limits("l", [], []))


def test_of_too_many_dots_the_worst_stay():
    """A page of any run loads."""
    dots = [Dot(tokens=n, outcome=Outcome.CLEAN) for n in range(3_000)] + [Dot(tokens=1, outcome=Outcome.VIOLATION)]
    drawn = str(draw_limits("l", [], dots))

    assert drawn.count("<circle") == MOST_DOTS
    assert "dot violation" in drawn
