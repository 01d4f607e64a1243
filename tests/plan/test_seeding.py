"""Filling the pools."""

import pytest

from prober.domain.answer import Answer
from prober.domain.probe import Role
from prober.plan.course import Course
from prober.plan.seeding import seed, shortfall
from tests.support.scripted import LEAK, REJECTED, Reply, Respond, failing, play, stage_of, target_of


def seeded(respond: Respond, *, longest: int = 700_000, shared: bool = False, **settings: object):
    target = target_of(shared=shared)
    course = Course("x", stage_of(target, **settings))
    return play(seed(course, longest), target, respond)


def test_donors_go_through_until_enough_was_processed():
    """Donors of the donor tenants, at most two at a time, add up to the wanted tokens and not much more."""
    played = seeded(lambda *_: Reply(), tenants=4, donor_tokens=100_000)
    assert played.returned == 700_000
    assert len(played.probes) == 7
    assert {probe.role for probe in played.probes} == {Role.DONOR}
    assert {probe.tenant.number for probe in played.probes} == {0, 1}
    assert max(len(wave.probes) for wave in played.waves) == 2


def test_only_processed_text_counts():
    """Refused donors seed nothing: the double of what is needed is tried, then seeding stands as it is."""
    played = seeded(lambda *_: REJECTED, donor_tokens=100_000)
    assert played.returned == 0
    assert len(played.probes) == 14


def test_a_target_that_does_not_answer_is_not_seeded_on():
    """Seeding gives up with the course's patience."""
    played = seeded(lambda *_: failing(Answer.SERVER_ERROR), donor_tokens=100_000)
    assert len(played.probes) == 4
    assert played.returned == 0


@pytest.mark.parametrize("wanted", [0, 1])
def test_seeding_can_be_switched_off(wanted: int):
    """No tokens wanted, no donor sent; one token wanted, one donor."""
    assert len(seeded(lambda *_: Reply(), seed_tokens=wanted).probes) == wanted


def test_a_leak_among_donors_ends_seeding_of_a_shared_target():
    """Donors are judged like any other probe."""
    played = seeded(lambda *_: LEAK, donor_tokens=100_000, shared=True)
    assert len(played.probes) == 2


def test_donors_far_smaller_than_the_pool_are_bounded():
    """A pool that would take thousands of donors is not filled at any price."""
    assert len(seeded(lambda *_: Reply(), donor_tokens=1_000).probes) == 128


@pytest.mark.parametrize(
    ("respond", "settings", "is_said"),
    [
        (lambda *_: Reply(), {"donor_tokens": 100_000}, False),
        (lambda *_: Reply(), {"donor_tokens": 1_000}, True),
        (lambda *_: REJECTED, {"donor_tokens": 100_000}, True),
        (lambda *_: failing(Answer.SERVER_ERROR), {}, False),
        (lambda *_: Reply(), {"seed_tokens": 0}, False),
    ],
)
def test_pools_that_were_not_filled_are_told(respond: Respond, settings: dict[str, int], *, is_said: bool):
    """Over-limit probes of an empty pool can show nothing; a scenario that had to stop tells why by its judgements."""
    target = target_of(shared=False)
    course = Course("seed_and_probe", stage_of(target, **settings))
    played = play(seed(course, 700_000), target, respond)
    said = shortfall(course, 700_000, played.returned)
    assert ["700,000" in message for message in said] == [True] * is_said
