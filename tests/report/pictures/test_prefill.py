"""Prefill times against prompt tokens."""

import re

from prober.domain.outcome import Outcome
from prober.report.pictures.prefill import MOST_POINTS, Point, draw_prefill


def point(tokens: int, seconds: float, outcome: Outcome = Outcome.CLEAN, *, is_anchor: bool = False) -> Point:
    return Point(label=f"s/{tokens}", tokens=tokens, seconds=seconds, outcome=outcome, is_anchor=is_anchor)


def test_points_anchors_and_floor_are_told_apart():
    """Anchors are diamonds, the floor a line, the rest dots; colour is not all that tells them apart."""
    drawn = str(
        draw_prefill("p", [point(1_000, 0.1, is_anchor=True), point(9_000, 0.2)], [(1_001, 0.04), (9_000, 0.3)])
    )

    assert drawn.count("<circle") == 1
    assert drawn.count('anchor"') >= 1
    assert '<polyline points="' in drawn
    assert "2 answers, 1 of them anchors, 0 suspect or worse; the floor is drawn" in drawn


def test_an_answer_below_the_floor_lies_below_its_line():
    """What the picture is for: the fast answer is seen under the floor at its length."""
    floor = [(1_000, 0.1), (100_000, 10.0)]
    drawn = str(draw_prefill("p", [point(100_000, 1.0, Outcome.VIOLATION)], floor))
    height = float(re.search(r'<circle cx="[\d.]+" cy="([\d.]+)"', drawn)[1])
    line_end = float(re.search(r'points="[^"]* [\d.]+,([\d.]+)"', drawn)[1])

    assert height > line_end


def test_without_a_floor_none_is_drawn():
    """Nothing is claimed that does not stand."""
    drawn = str(draw_prefill("p", [point(1_000, 0.1)], []))

    assert "polyline" not in drawn
    assert "no floor stands" in drawn


def test_of_too_many_points_the_worst_stay():
    """What is not clean is drawn, on top."""
    points = [point(1_000 + n, 0.1) for n in range(MOST_POINTS + 10)] + [point(5, 0.1, Outcome.VIOLATION)]
    drawn = str(draw_prefill("p", points, []))

    assert drawn.count("<circle") == MOST_POINTS
    assert drawn.rindex("s/5:") > drawn.rindex("s/1500:")
