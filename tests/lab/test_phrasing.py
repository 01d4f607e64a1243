import random

import pytest

from prober.lab.phrasing import Manner, found, missing


@pytest.mark.parametrize("manner", list(Manner))
def test_a_phrase_stays_whole_in_every_manner(manner: Manner):
    """Whatever stands around a phrase, its words stand together and in order."""
    draw = random.Random(1)
    said = {found("lantern", "amber birch cedar", manner, draw) for _ in range(40)}
    assert all("amber birch cedar" in text and "lantern" in text for text in said)
    assert (len(said) == 1) == (manner is Manner.PLAIN)


@pytest.mark.parametrize("manner", list(Manner))
def test_a_missing_phrase_is_admitted_in_every_manner(manner: Manner):
    """Whoever finds no phrase says so and names it."""
    assert "lantern phrase" in missing("lantern", manner, random.Random(1))


def test_a_plain_answer_draws_nothing():
    """Plain words cost no draw, so that switching a failing on changes nothing else."""
    draw = random.Random(1)
    before = draw.getstate()
    found("lantern", "amber", Manner.PLAIN, draw)
    missing("lantern", Manner.PLAIN, draw)
    assert draw.getstate() == before
