"""Kinds of fault."""

from prober.domain.fault_kind import FaultKind


def test_kinds_are_numbered_and_have_titles_of_their_own():
    """K1 to K19 in order, stable in storage; each with a few plain words."""
    assert [kind.value for kind in FaultKind] == [f"K{number}" for number in range(1, 20)]
    titles = [kind.title for kind in FaultKind]
    assert len(set(titles)) == len(titles)
    assert all(title and len(title) <= 50 for title in titles)
