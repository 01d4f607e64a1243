"""An exchange drawn to scale."""

import re

import pytest

from prober.domain.outcome import Outcome
from prober.report.pictures.exchange import draw_exchange

MARKS = [("first token", 0.2), ("end", 0.4), ("headers", 0.1)]


def places(picture: str) -> list[float]:
    """Where the marks stand, from left to right."""
    found = re.findall(r'<line x1="([\d.]+)" y1="[\d.]+" x2="[\d.]+" y2="[\d.]+" class="first-token">', picture)
    return sorted(map(float, found))


def test_marks_stand_to_scale():
    """Twice the time is twice as far from the beginning."""
    headers, first, end = places(str(draw_exchange("x", MARKS, Outcome.CLEAN)))
    assert (first - 20) == pytest.approx(2 * (headers - 20), abs=0.05)
    assert (end - 20) == pytest.approx(4 * (headers - 20), abs=0.05)


def test_a_floor_is_drawn_where_it_stands():
    """Right of a first token that came too early; and it is told to who does not see it."""
    picture = str(draw_exchange("x", MARKS, Outcome.VIOLATION, floor=0.8))
    (floor,) = map(float, re.findall(r'<line x1="([\d.]+)"[^>]* class="floor">', picture))
    assert floor > max(places(picture))
    assert "no honest prefill fits below 0.800 seconds" in picture
    assert 'class="floor"' not in str(draw_exchange("x", MARKS, Outcome.CLEAN))


def test_words_stay_within_the_picture():
    """What stands near the right edge is written to its left."""
    picture = str(draw_exchange("x", [("end", 5.0)], Outcome.CLEAN))
    assert 'text-anchor="end"' in re.findall(r"<text[^>]*>end 5\.000 s", picture)[0]


def test_an_exchange_of_no_time_can_be_drawn():
    """All at once."""
    assert "end 0.000 s" in str(draw_exchange("x", [("end", 0.0)], Outcome.INCONCLUSIVE))
