"""All decisions together."""

import collections

import pytest

from prober.lab.dice import Dice
from prober.lab.seams import Seams
from prober.lab.seams.admission import AdmissionSeams
from prober.lab.seams.batch import BatchSeams
from prober.lab.seams.cache import CacheSeams
from prober.lab.seams.front import FrontSeams

AREAS = (AdmissionSeams, BatchSeams, CacheSeams, FrontSeams)


def decisions(area: type) -> set[str]:
    return {name for name in vars(area) if not name.startswith("_")}


def test_areas_share_no_decision():
    """A decision stands in one area's file: two of one name would hide each other."""
    names = [name for area in AREAS for name in decisions(area)]

    assert sorted(names) == sorted(set(names))
    assert set(names) <= set(dir(Seams))


@pytest.mark.parametrize("area", AREAS)
def test_every_decision_says_what_is_right(area: type):
    """Whoever breeds a fault reads there what upstream should have decided."""
    assert decisions(area)
    assert [name for name in decisions(area) if callable(getattr(area, name)) and not getattr(area, name).__doc__] == []


def test_dice_are_the_clusters():
    """Faults draw from the dice of their own cluster, so that its counters hold its strikes alone."""
    dice = Dice({}, 0, collections.Counter())

    assert Seams(dice).dice is dice
