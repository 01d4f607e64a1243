"""Parking and returning, against targets with a device cache and a tier below it."""

import collections
import dataclasses

import pytest

from prober.domain.answer import Answer
from prober.domain.canary import Canary
from prober.domain.finding import Reason
from prober.domain.options import Arm
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Role, SharedPlace
from prober.domain.target import Target
from prober.plan.scenarios.park_and_return import MAX_SESSIONS, park_and_return
from tests.support.scripted import LEAK, Played, Reply, Respond, failing, play, stage_of, target_of

SMALL = target_of(context_tokens=8_192, prefill_pool_tokens=32_768, decode_pool_tokens=None)
UNCONFIRMED = dataclasses.replace(LEAK, is_confirmed=False)


def played_against(respond: Respond, *, target: Target = SMALL, **settings: object) -> Played:
    return play(park_and_return(stage_of(target, tenants=4, **settings)), target, respond)


def sound(_probe: Probe, _tokens: int) -> Reply:
    return Reply()


class Tiers:
    """A device cache that evicts by last use. What comes back from the tier below is answered by `restored`."""

    def __init__(self, device_tokens: int, restored: Reply = LEAK) -> None:
        self.device_tokens = device_tokens
        self.restored = restored
        self.device: collections.OrderedDict[Canary, int] = collections.OrderedDict()
        self.below: set[Canary] = set()
        self.restored_for: list[Probe] = []
        self.serial = 0

    def __call__(self, probe: Probe, tokens: int) -> Reply:
        self.serial += 1
        beginning = None if probe.prompt.shared is None else probe.prompt.shared.source
        text = probe.prompt.rewrite_of or beginning or Canary.of(probe.tenant.number, 0, self.serial)
        is_restored = text in self.below and text not in self.device
        self.device[text] = tokens
        self.device.move_to_end(text)
        while sum(self.device.values()) > self.device_tokens:
            self.below.add(self.device.popitem(last=False)[0])
        if is_restored:
            self.restored_for.append(probe)
        return self.restored if is_restored else Reply()


@pytest.mark.parametrize("device_tokens", [8_192, 16_384, 32_768])
def test_every_session_has_left_a_device_as_large_as_the_pool(device_tokens: int):
    """Whatever the cache holds, up to the pool's size: when a session comes back it comes from the tier below."""
    target = Tiers(device_tokens, restored=Reply())
    played = played_against(target)
    assert played.returned == ()
    returned = {probe.options.session for probe in target.restored_for if probe.role is Role.CHECK}
    assert len(returned) == MAX_SESSIONS


def test_a_wrong_restore_is_met_and_confirmed_by_parking_again():
    """A fresh prompt was never parked: the confirmation evicts once more and comes back to the same sessions."""
    played = played_against(Tiers(32_768, restored=UNCONFIRMED), rounds=3)
    roles = [probe.role for probe in played.probes if probe.role is not Role.NEIGHBOUR]
    assert roles == [Role.REFERENCE] * 3 + [Role.CHECK] * 6 + [Role.CONFIRMATION] * 6
    checks = [j.evidence.probe.prompt.rewrite_of for j in played.of(Role.CHECK)]
    assert [j.evidence.probe.prompt.rewrite_of for j in played.of(Role.CONFIRMATION)] == checks


DOUBTFUL = Reply(outcome=Outcome.INCONCLUSIVE, reason=Reason.REPLAY_DIVERGED)


@pytest.mark.parametrize(
    ("restored", "rounds"), [(Reply(), 1), (DOUBTFUL, 2), (failing(Answer.BUSY), 1)], ids=["sound", "doubtful", "busy"]
)
def test_sessions_that_lack_what_they_knew_come_back_once_more(restored: Reply, rounds: int):
    """A few may have been forgotten honestly: a second round tells; other trouble is no reason for one."""
    played = played_against(Tiers(32_768, restored=restored), rounds=3)
    assert len(played.of(Role.CHECK)) == 6 * rounds
    assert played.of(Role.CONFIRMATION) == []


def test_a_cache_larger_than_what_was_sent_is_reported():
    """On a target of a million tokens the default evicts less than the pool may hold: that is said, not passed over."""
    played = played_against(sound, target=target_of(prefill_pool_tokens=None))
    (sentence,) = played.returned
    assert "Only 400,228 of the 1,310,720 tokens" in sentence
    assert "park_tokens" in sentence
    assert played_against(sound, target=target_of(), park_tokens=300_000).returned == ()


def test_an_eviction_that_did_not_happen_is_reported():
    """Refused prompts evict nothing; they are sent twice as often as needed, and no more."""

    def respond(probe: Probe, tokens: int) -> Reply:
        return failing(Answer.TOO_MANY_BYTES) if tokens > 3_000 else Reply()

    played = played_against(respond, donor_tokens=4_000)
    evicting = [j for j in played.judgements if j.evidence.probe.prompt.tokens == 4_000]
    assert len(evicting) == 2 * 11
    (sentence,) = played.returned
    assert "Only 5,016 of the 40,960 tokens" in sentence


def test_nothing_is_said_of_a_target_that_had_to_be_left_alone():
    """Its judgements tell why."""
    played = played_against(lambda *_: failing(Answer.HANG))
    assert played.returned == ()
    assert {probe.role for probe in played.probes} == {Role.REFERENCE}


def test_sessions_come_back_twice_half_of_them_in_a_burst():
    """The same text and a new question behind the same beginning; alone first, then many at once; strangers beside."""
    played = played_against(sound)
    references = played.of(Role.REFERENCE)
    assert [j.evidence.probe.options.session for j in references] == [f"park_and_return-{n}" for n in range(1, 9)]
    checks = [j.evidence.probe for j in played.of(Role.CHECK)]
    for index, session in enumerate(references):
        again, continued = checks[2 * index : 2 * index + 2]
        first, canary = session.evidence.probe, session.evidence.prompt.canary
        assert again.prompt.is_replay
        assert again.trial == dataclasses.replace(first.trial, arm=Arm.CHECK)
        assert continued.prompt.shared == dataclasses.replace(first.prompt.shared, source=canary)
        assert continued.prompt.shared.place is SharedPlace.PREFIX
        assert continued.prompt.rewrite_of is None
        assert continued.trial is None
        assert {again.options.session, continued.options.session} == {first.options.session}
        assert {again.tenant, continued.tenant} == {first.tenant}
    sizes = [len(wave.probes) for wave in played.waves if any(probe.role is Role.CHECK for probe in wave.probes)]
    assert sizes == [2] * 8 + [8, 8]
    assert all(
        any(probe.role is Role.NEIGHBOUR for probe in wave.probes)
        for wave in played.waves
        if wave.probes[0].role is Role.CHECK
    )


def test_who_evicts_never_comes_back():
    """Sessions are the checkers', everything else is another tenant's; short prompts run beside the evicting ones."""
    played = played_against(sound)
    neighbours = [probe for probe in played.probes if probe.role is Role.NEIGHBOUR]
    others = {probe.tenant for probe in played.probes if probe.role is not Role.NEIGHBOUR}
    assert others.isdisjoint(probe.tenant for probe in neighbours)
    filling = [wave for wave in played.waves if {probe.role for probe in wave.probes} == {Role.NEIGHBOUR}]
    assert all([probe.prompt.tokens is None for probe in wave.probes] == [False, True] for wave in filling)
    assert sum(wave.probes[0].prompt.tokens + 228 for wave in filling) >= 40_960


def test_a_rate_to_exclude_parks_again():
    """Further rounds evict and come back anew, to the sessions there are."""
    played = played_against(sound, rounds=2, excluded_leak_rate=0.3)
    assert len(played.of(Role.REFERENCE)) == 2
    assert len(played.of(Role.CHECK)) == 12
    assert played.returned == ()
