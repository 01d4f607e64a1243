"""Whose text stood in whose answers."""

from prober.report.pictures.matrix import MOST_TENANTS, Cell, draw_matrix


def test_a_sighting_stands_in_its_cell():
    """Donors are rows, askers columns, and each cell says how many and how sure."""
    cells = [Cell(donor="bravo", asker="alpha", sightings=3, bits=36.6)]
    drawn = str(draw_matrix("m", ["alpha", "bravo"], ["alpha", "bravo"], cells))

    assert drawn.count("cell hit") == 1
    assert "bravo in alpha: 3 sightings, up to 37 bits" in drawn
    assert "text of bravo in answers to alpha: 3" in drawn
    assert drawn.count("own") == 2


def test_a_clean_matrix_says_so():
    """Nothing seen is told in words too."""
    drawn = str(draw_matrix("m", ["alpha"], ["alpha"], []))

    assert "hit" not in drawn
    assert "No tenant" in drawn


def test_many_tenants_and_long_names_fit():
    """Names are cut with a mark, tenants beyond the first 24 are counted."""
    names = [f"tenant-{'x' * 60}-{number}" for number in range(MOST_TENANTS + 6)]
    drawn = str(draw_matrix("m", names, names, []))

    assert "12 names left out" in drawn
    assert "\N{HORIZONTAL ELLIPSIS}" in drawn
    assert drawn.count('class="cell') == MOST_TENANTS**2


def test_names_are_escaped():
    """A tenant's name is a value."""
    assert "<b>" not in str(draw_matrix("m", ["<b>"], ["<b>"], [Cell(donor="<b>", asker="<b>", sightings=1, bits=1.0)]))
