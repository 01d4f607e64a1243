"""The timeline."""

import itertools
import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from prober.domain.outcome import Outcome
from prober.report.pictures.timeline import MOST_BARS, MOST_ROWS, Bar, draw_timeline, packed, thinned


def bar(start: float, end: float, outcome: Outcome = Outcome.CLEAN, lane: str = "alpha") -> Bar:
    return Bar(lane=lane, label=f"s/{start}", start=start, end=end, first_token=None, outcome=outcome)


def widths(markup: str) -> list[tuple[float, float]]:
    """Place and width of each bar."""
    found = ET.fromstring(markup).iter("rect")  # noqa: S314 - our own markup
    return [(float(each.get("x")), float(each.get("width"))) for each in found if "bar" in each.get("class", "")]


def test_it_is_drawn_to_scale():
    """Twice as long is twice as wide, and starts where it should."""
    (first, second) = widths(str(draw_timeline("t", [bar(0.0, 10.0), bar(10.0, 30.0)], 40.0)))

    assert second[1] == 2 * first[1]
    assert second[0] == first[0] + first[1]


def test_what_is_short_is_still_seen():
    """A request of a millisecond in an hour has a bar."""
    assert all(width >= 1.0 for _, width in widths(str(draw_timeline("t", [bar(0.0, 0.001)], 3_600.0))))


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 10)), max_size=40))
def test_rows_hold_every_bar_apart(drawn: list[tuple[float, float]]):
    """None is lost, rows are few, and in all but the last no two overlap."""
    bars = [bar(start, start + length) for start, length in drawn]
    rows = packed(bars)

    assert sorted((each.start, each.end) for row in rows for each in row) == sorted((b.start, b.end) for b in bars)
    assert len(rows) <= MOST_ROWS
    for row in rows[: MOST_ROWS - 1]:
        assert all(one.end <= other.start for one, other in itertools.pairwise(row))


def test_of_too_many_the_telling_ones_stay():
    """Clean requests are thinned out evenly; what is not clean is kept, and the picture says how many are missing."""
    bars = [bar(float(number), number + 0.5) for number in range(2_000)]
    bars[1_234] = bar(1_234.0, 1_234.5, Outcome.VIOLATION)
    shown = thinned(bars)

    assert len(shown) == MOST_BARS
    assert bars[1_234] in shown
    assert shown[0] == bars[0]
    assert "1,400 of them not drawn" in str(draw_timeline("t", bars, 2_000.0))
    assert thinned([bar(float(n), n + 1.0, Outcome.SUSPECT) for n in range(700)])[-1].start == MOST_BARS - 1


def test_first_tokens_and_lanes_are_marked():
    """Each tenant has a lane; a mark says when the answer began; a tooltip says both."""
    one = Bar(lane="alpha", label="s/1", start=1.0, end=3.0, first_token=2.0, outcome=Outcome.SUSPECT)
    drawn = str(draw_timeline("t", [one, bar(0.0, 1.0, lane="bravo")], 4.0))

    assert 'class="first-token"' in drawn
    assert ">alpha<" in drawn
    assert ">bravo<" in drawn
    assert "s/1: suspect, from 1.00 s to 3.00 s, first token at 2.00 s" in drawn
