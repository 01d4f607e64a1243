"""The scenario around the search for an unknown limit."""

from prober.domain.answer import Answer
from prober.domain.verdict import LimitMap
from prober.plan.limits import limit_map
from prober.plan.scenarios.discover import discover
from tests.support.scripted import failing, play, serving_below, stage_of, target_of

UNKNOWN = target_of(prefill_pool_tokens=None, decode_pool_tokens=None)


def test_what_was_found_is_the_map_and_nothing_is_missing():
    """The map is read off the run's judgements, within one page of the limit."""
    played = play(discover(stage_of(UNKNOWN)), UNKNOWN, serving_below(500_000))
    limits = limit_map(played.judgements)
    assert isinstance(limits, LimitMap)
    assert 0 < 500_000 - (limits.largest_served or 0) <= 128
    assert 0 <= (limits.smallest_rejected or 0) - 500_000 <= 128
    assert played.returned == ()


def test_what_was_not_found_is_said():
    """Without it a target that never answered would read as clean."""
    played = play(discover(stage_of(UNKNOWN)), UNKNOWN, lambda *_: failing(Answer.SERVER_ERROR))
    assert "No length limit was found" in played.returned[0]
