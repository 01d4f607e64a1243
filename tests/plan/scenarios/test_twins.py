"""Twins of two tenants, against targets that tell requests apart by too little."""

import dataclasses
from collections.abc import Callable, Hashable

import pytest

from prober.detect.detectors.cache_sharing import detect_cache_sharing
from prober.domain.canary import Canary
from prober.domain.finding import Reason
from prober.domain.options import Arm
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Role, SharedPlace
from prober.plan.lengths import FACT_LINES
from prober.plan.scenarios.twins import SHARED_TIMES, twins
from tests.support.judged import (
    Seen,
    assert_goes_on_until_excluded,
    assert_says_how_many_are_missing,
    play_judged,
    reasons,
)
from tests.support.scripted import LEAK, Played, Reply, Respond, play, stage_of, target_of

UNCONFIRMED = dataclasses.replace(LEAK, is_confirmed=False)


def played_against(respond: Respond, *, shared: bool = False, tenants: int = 4, **settings: object) -> Played:
    target = target_of(shared=shared)
    return play(twins(stage_of(target, tenants=tenants, **settings)), target, respond)


def sound(_probe: Probe, _tokens: int) -> Reply:
    return Reply()


def variant(probe: Probe) -> str:
    return probe.trial.series.removeprefix("twins/")


class Keyed:
    """Keeps what it did under a key; whoever comes with a key of another tenant's gets that one's."""

    def __init__(self, key: Callable[[Probe, Canary], Hashable], leak: Reply = LEAK) -> None:
        self.key = key
        self.leak = leak
        self.kept: dict[Hashable, int] = {}
        self.serial = 0

    def __call__(self, probe: Probe, _tokens: int) -> Reply:
        self.serial += 1
        own = Canary.of(probe.tenant.number, 0, self.serial)
        key = self.key(probe, own)
        owner = self.kept.setdefault(key, probe.tenant.number)
        return self.leak if key is not None and owner != probe.tenant.number else Reply()


def client_id(probe: Probe, _own: Canary) -> Hashable:
    """Results are kept under X-Request-Id."""
    return probe.options.request_id


def opening(probe: Probe, own: Canary) -> Hashable:
    """A key made of a prompt's beginning, without salt."""
    return probe.prompt.shared and (probe.prompt.shared.source or own)


def salted_opening(probe: Probe, own: Canary) -> Hashable:
    """The same, of requests that name a salt."""
    return opening(probe, own) if probe.options.cache_salt else None


def whole_text(probe: Probe, own: Canary) -> Hashable:
    """The whole prompt, without tenant."""
    return (probe.prompt.rewrite_of or own) if probe.prompt.shared is None else None


KEYS = {"same_id": client_id, "near": opening, "salted": salted_opening, "same_text": whole_text}


@pytest.mark.parametrize(("name", "key"), KEYS.items())
def test_each_key_that_is_too_short_is_met_in_the_first_round(name: str, key: Callable[[Probe, Canary], Hashable]):
    """The variant made for it shows it, and nothing follows on a shared target."""
    played = played_against(Keyed(key), shared=True)
    (hit, *_) = [j.evidence.probe for j in played.judgements if j.is_confirmed_violation]
    assert hit.role is Role.CHECK
    assert variant(hit) == name
    assert len(played.probes) <= 10
    assert hit in played.waves[-1].probes


def test_a_salt_that_is_heeded_keeps_twins_apart():
    """Each of a salted pair has a salt of its own, which no other variant sends."""
    played = played_against(Keyed(lambda probe, own: (opening(probe, own), probe.options.cache_salt)))
    leaky = {variant(j.evidence.probe) for j in played.judgements if j.is_confirmed_violation}
    assert "salted" not in leaky
    salts = [probe.options.cache_salt for probe in played.probes if variant(probe) == "salted"]
    assert None not in salts
    assert len(set(salts)) == len(salts) == 2 * 8
    assert {probe.options.cache_salt for probe in played.probes if variant(probe) != "salted"} == {None}


@pytest.mark.parametrize(("name", "key"), KEYS.items())
def test_a_first_hit_is_confirmed_by_a_pair_of_its_own(name: str, key: Callable[[Probe, Canary], Hashable]):
    """Fresh text, a fresh id and a fresh trial, so that the first pair's traces explain nothing."""
    played = played_against(Keyed(key, UNCONFIRMED), rounds=1)
    hits = [j.evidence.probe for j in played.judgements if j.outcome is Outcome.VIOLATION]
    first, again = (next(probe for probe in hits if probe.role is role) for role in (Role.CHECK, Role.CONFIRMATION))
    assert variant(first) == variant(again) == name
    assert first.trial.number != again.trial.number
    assert first.options.request_id is None or first.options.request_id != again.options.request_id
    assert first.prompt.rewrite_of is None or first.prompt.rewrite_of != again.prompt.rewrite_of


def test_requests_with_one_id_are_in_flight_together():
    """Two pairs at once, each of two tenants with different texts; no other request has the pair's id."""
    played = played_against(sound)
    pairs = [wave.probes for wave in played.waves if wave.probes[0].options.request_id is not None]
    assert len(pairs) == 8
    for one, other, third, fourth in pairs:
        for left, right in ((one, other), (third, fourth)):
            assert left.options.request_id == right.options.request_id
            assert left.tenant != right.tenant
            assert left.prompt.shared is right.prompt.shared is left.prompt.rewrite_of is None
    ids = [probe.options.request_id for probes in pairs for probe in probes]
    assert len(set(ids)) == 2 * 8


@pytest.mark.parametrize(("concurrency", "pairs"), [(2, 1), (3, 1), (4, 2), (8, 2)])
def test_a_pair_is_never_split_over_two_waves(concurrency: int, pairs: int):
    """However few may be in flight together."""
    played = played_against(sound, concurrency=concurrency)
    sizes = {len(wave.probes) for wave in played.waves if wave.probes[0].options.request_id is not None}
    assert sizes == {2 * pairs}


@pytest.mark.parametrize("name", ["near", "salted"])
def test_near_twins_share_a_long_beginning_and_ask_for_facts_of_their_own(name: str):
    """One after the other, of equal length, the prime by a donor; six lines in seven are shared."""
    played = played_against(sound)
    judgements = [j for j in played.judgements if variant(j.evidence.probe) == name]
    assert len(judgements) == 2 * 8
    for prime, check in zip(judgements[::2], judgements[1::2], strict=True):
        first, second = prime.evidence.probe, check.evidence.probe
        assert (first.role, first.trial.arm) == (Role.NEIGHBOUR, Arm.PRIME)
        assert (second.role, second.trial.arm) == (Role.CHECK, Arm.CHECK)
        assert first.trial.number == second.trial.number
        assert first.tenant != second.tenant
        assert first.prompt.shared.source is None
        assert second.prompt.shared.source == prime.evidence.prompt.canary
        assert second.prompt.shared.place is SharedPlace.PREFIX
        assert first.prompt.filler_lines == second.prompt.filler_lines
        assert second.prompt.shared.lines == SHARED_TIMES * FACT_LINES == second.prompt.filler_lines - FACT_LINES
        assert second.prompt.rewrite_of is None
    assert all(len(wave.probes) == 1 for wave in played.waves if variant(wave.probes[0]) == name)


def test_the_same_text_is_asked_by_two_tenants_byte_for_byte():
    """The later one is a checker's, and has no options beside."""
    played = played_against(sound)
    judgements = [j for j in played.judgements if variant(j.evidence.probe) == "same_text"]
    for prime, check in zip(judgements[::2], judgements[1::2], strict=True):
        assert check.evidence.probe.prompt.is_replay
        assert check.evidence.prompt.text_sha256 == prime.evidence.prompt.text_sha256
        assert check.evidence.probe.tenant != prime.evidence.probe.tenant
        assert check.evidence.probe.options == prime.evidence.probe.options


def test_small_targets_share_as_many_lines_as_fit():
    """At least those of the smallest prompt, and the twins still fit."""
    played = played_against(sound, baseline_tokens=1)
    assert {probe.prompt.shared.lines for probe in played.probes if probe.prompt.shared} == {FACT_LINES}


@pytest.mark.parametrize("name", ["near", "salted"])
def test_cached_tokens_of_a_twins_text_are_told_by_the_trial(name: str):
    """The detector finds prime and check by series, number and arm; the confirmation is a crossing of its own."""
    target = target_of()

    def see(probe: Probe, _canary: Canary) -> Seen:
        is_twin = variant(probe) == name and probe.trial.arm is Arm.CHECK
        return Seen(cached_tokens=384 if is_twin else 0)

    played = play_judged(twins(stage_of(target, rounds=1)), target, see, detect_cache_sharing)
    assert reasons(played, Outcome.SUSPECT) == [(Role.CHECK, Reason.CACHE_SHARED)]
    assert reasons(played, Outcome.VIOLATION) == [(Role.CONFIRMATION, Reason.CACHE_SHARED)]


@pytest.mark.parametrize("after", ["near", "salted", "same_text"])
def test_a_twin_is_not_asked_where_the_first_one_ended_the_scenario(after: str):
    """A leak that a prime shows already is the last probe of a shared target."""
    played = played_against(
        lambda probe, _: LEAK if variant(probe) == after and probe.trial.arm is not Arm.CHECK else Reply(), shared=True
    )
    assert played.probes[-1].trial.arm is Arm.PRIME
    assert variant(played.probes[-1]) == after


def test_a_leak_rate_is_excluded_or_said_not_to_be():
    """Rounds go on until the checks suffice; else their number is told."""
    assert played_against(sound).returned == ()
    assert_goes_on_until_excluded(twins)
    assert_says_how_many_are_missing(twins)
