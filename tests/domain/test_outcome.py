"""Folding of outcomes."""

import itertools

import pytest

from prober.domain.outcome import Outcome, worst


@pytest.mark.parametrize(("first", "second"), list(itertools.product(Outcome, Outcome)))
def test_worst_wins_whatever_the_order(first: Outcome, second: Outcome):
    """Folding is commutative and gives one of its inputs, the higher one."""
    folded = worst([first, second])

    assert folded is worst([second, first])
    assert folded.rank == max(first.rank, second.rank)


def test_nothing_seen_is_inconclusive():
    """An empty run must not read as clean."""
    assert worst([]) is Outcome.INCONCLUSIVE


def test_the_order_is_that_of_the_design():
    """VIOLATION > SUSPECT > INCONCLUSIVE > CLEAN."""
    assert sorted(Outcome, key=lambda outcome: outcome.rank) == [
        Outcome.CLEAN,
        Outcome.INCONCLUSIVE,
        Outcome.SUSPECT,
        Outcome.VIOLATION,
    ]
