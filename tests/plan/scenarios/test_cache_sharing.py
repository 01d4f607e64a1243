"""Primed and fresh text of two tenants, against targets with prefix caches that do and do not keep tenants apart."""

import itertools

import pytest

from prober.detect.detectors.cache_sharing import WARN_E, detect_cache_sharing
from prober.domain.canary import Canary
from prober.domain.finding import Reason
from prober.domain.options import Arm
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Role, SharedPlace
from prober.plan.scenarios.cache_sharing import CELLS, LEAST_PAIRS, cache_sharing
from prober.plan.trials import checks_for
from prober.stats.eprocess import sign_e_value
from tests.support.judged import (
    MAX_WAVES,
    Seen,
    assert_goes_on_until_excluded,
    assert_says_how_many_are_missing,
    play_judged,
    reasons,
)
from tests.support.scripted import Played, Reply, play, stage_of, target_of

ARMS = [[Arm.PRIME, Arm.HIT, Arm.MISS, Arm.CONTROL], [Arm.PRIME, Arm.MISS, Arm.HIT, Arm.CONTROL]]


class PrefixCache:
    """Keeps shared text under a key; a prompt that finds it is quicker, and says so where the target counts."""

    def __init__(
        self, *, has_tenant: bool, has_salt: bool = True, is_counted: bool = True, is_quicker: bool = True
    ) -> None:
        self.has_tenant = has_tenant
        self.has_salt = has_salt
        self.is_counted = is_counted
        self.is_quicker = is_quicker
        self.kept: set[tuple[object, ...]] = set()
        self.serial = itertools.count()

    def __call__(self, probe: Probe, canary: Canary) -> Seen:
        shared = probe.prompt.shared
        tenant = probe.tenant.number if self.has_tenant else None
        salt = probe.options.cache_salt if self.has_salt else None
        key = (shared.source or canary, shared.place, tenant, salt)
        is_hit = key in self.kept and shared.place is SharedPlace.PREFIX
        self.kept.add(key)
        # No two answers ever take the same time.
        seconds = (0.2 if is_hit and self.is_quicker else 1.0) + 1e-6 * next(self.serial)
        return Seen(cached_tokens=1_024 * is_hit if self.is_counted else None, first_token_seconds=seconds)


def played_against(
    cache: PrefixCache, *, shared: bool = False, tenants: int = 4, has_timings: bool = True, **settings: object
) -> Played:
    target = target_of(shared=shared)
    generator = cache_sharing(stage_of(target, tenants=tenants, **settings))
    return play_judged(generator, target, cache, detect_cache_sharing, has_timings=has_timings)


def trials(played: Played) -> list[list[Probe]]:
    """Probes by trial, in order."""
    return [
        list(probes)
        for _, probes in itertools.groupby(played.probes, lambda probe: (probe.trial.series, probe.trial.number))
    ]


def test_a_cache_without_tenants_is_met_by_the_first_trial_and_paged_by_its_confirmation():
    """One count is suspicious, the second, in a trial of its own, is the violation that ends a shared target's run."""
    played = played_against(PrefixCache(has_tenant=False), shared=True)
    assert reasons(played, Outcome.SUSPECT) == [(Role.CHECK, Reason.CACHE_SHARED)]
    assert reasons(played, Outcome.VIOLATION) == [(Role.CONFIRMATION, Reason.CACHE_SHARED)]
    assert len(trials(played)) == 2
    assert played.probes[-1].trial.arm is Arm.HIT
    assert played.returned == ()


def test_salts_are_told_apart_from_no_salts():
    """A cache that heeds salts shares in unsalted series only; one that ignores them in salted ones too."""
    heeding = played_against(PrefixCache(has_tenant=False), rounds=9)
    ignoring = played_against(PrefixCache(has_tenant=False, has_salt=False), rounds=9)
    for played, series in (
        (heeding, {"cache_sharing/prefix/unsalted"}),
        (ignoring, {"cache_sharing/prefix/unsalted", "cache_sharing/prefix/salted"}),
    ):
        found = {j.evidence.probe.trial.series for j in played.judgements if j.outcome.rank >= Outcome.SUSPECT.rank}
        assert found == series
        assert played.returned == ()


def test_sharing_that_only_the_clock_shows_is_found_with_enough_pairs():
    """The order within a pair is no regular one, so that the sign test holds; controls are timed in the same series."""
    played = played_against(PrefixCache(has_tenant=False, is_counted=False), rounds=2 * LEAST_PAIRS)
    assert (Role.CHECK, Reason.CACHE_SHARED) in reasons(played, Outcome.SUSPECT)
    orders = [[probe.trial.arm for probe in trial] for trial in trials(played)]
    assert all(order in ARMS for order in orders)
    firsts = [order[1] for order in orders]
    assert 0.25 < firsts.count(Arm.HIT) / len(firsts) < 0.75
    assert len({tuple(firsts[i : i + 3]) for i in range(len(firsts) - 2)}) == 8


def test_an_isolating_cache_ends_clean_and_is_called_isolated_after_enough_controls():
    """A tenant's own text shows as cached, another's never does."""
    played = played_against(PrefixCache(has_tenant=True), rounds=24)
    assert played.returned == ()
    assert reasons(played, Outcome.SUSPECT) == reasons(played, Outcome.VIOLATION) == []
    assert (Role.CHECK, Reason.CACHE_ISOLATED) in reasons(played, Outcome.CLEAN)
    assert played.of(Role.CONFIRMATION) == []


def test_a_target_that_shows_nothing_of_its_cache_is_not_called_clean():
    """Without a positive control, silence is no isolation."""
    blind = PrefixCache(has_tenant=False, is_counted=False, is_quicker=False)
    (sentence,) = played_against(blind).returned
    assert "could not have shown" in sentence
    assert "cached in 0 of 8 trials" in sentence
    silent = played_against(PrefixCache(has_tenant=False, is_counted=False), has_timings=False)
    (sentence,) = silent.returned
    assert "in 0 of 0" in sentence


@pytest.mark.parametrize("rounds", [8, LEAST_PAIRS - 1])
def test_too_few_pairs_for_the_clock_are_reported(rounds: int):
    """Where nothing is counted, sharing shows in no fewer pairs than the sign test takes."""
    (sentence,) = played_against(PrefixCache(has_tenant=True, is_counted=False), rounds=rounds).returned
    assert f"{rounds} pairs are too few" in sentence
    assert played_against(PrefixCache(has_tenant=True, is_counted=False), rounds=LEAST_PAIRS).returned == ()


def test_the_least_number_of_pairs_is_the_detectors():
    """One pair fewer never warns, though all be quicker."""
    assert sign_e_value(LEAST_PAIRS - 1, 0) < WARN_E <= sign_e_value(LEAST_PAIRS, 0)


def test_trials_prime_compare_and_control_under_one_affinity_key():
    """Hit and control ask for the primed text, miss for text of its own; each trial has a number and a key."""
    played = played_against(PrefixCache(has_tenant=True))
    canaries = {j.evidence.probe.label: j.evidence.prompt.canary for j in played.judgements}
    keys = set()
    for trial in trials(played):
        arms = {probe.trial.arm: probe for probe in trial}
        prime, hit, miss, control = (arms[arm] for arm in ARMS[0])
        assert hit.prompt.shared.source == control.prompt.shared.source == canaries[prime.label]
        assert prime.prompt.shared.source is miss.prompt.shared.source is None
        assert prime.tenant == control.tenant != hit.tenant == miss.tenant
        assert len({probe.prompt.shared.lines for probe in trial}) == 1
        assert len({probe.prompt.shared.place for probe in trial}) == 1
        assert len({probe.prompt.tokens for probe in trial}) == 1
        assert hit.role is Role.CHECK
        assert {probe.role for probe in (prime, miss, control)} == {Role.NEIGHBOUR}
        (key,) = {probe.options.session for probe in trial}
        keys.add(key)
    assert len(keys) == len(trials(played)) == 16
    assert all(len(wave.probes) == 1 for wave in played.waves)


def test_every_cell_is_played_the_plainest_in_each_round():
    """Prefix and middle, with salts and without; each tenant has one salt of its own."""
    played = played_against(PrefixCache(has_tenant=True))
    series = [trial[0].trial.series for trial in trials(played)]
    assert series[::2] == [CELLS[0].series] * 8 == ["cache_sharing/prefix/unsalted"] * 8
    assert set(series[1::2]) == {
        "cache_sharing/prefix/salted",
        "cache_sharing/middle/unsalted",
        "cache_sharing/middle/salted",
    }
    salts = {
        (probe.trial.series.endswith("/salted"), probe.options.cache_salt, probe.tenant.number)
        for probe in played.probes
    }
    assert {salt for is_salted, salt, _ in salts if not is_salted} == {None}
    salted = [(salt, tenant) for is_salted, salt, tenant in salts if is_salted]
    assert len({salt for salt, _ in salted}) == len({tenant for _, tenant in salted}) == len(salted)


def test_a_leak_rate_counts_trials_and_not_their_controls():
    """One clean check per trial: a miss could not have shown sharing."""
    assert_goes_on_until_excluded(cache_sharing)
    assert_says_how_many_are_missing(cache_sharing)
    stage = stage_of(target_of(), rounds=1, excluded_leak_rate=0.1)
    played = play(cache_sharing(stage), target_of(), lambda *_: Reply(), max_waves=MAX_WAVES)
    assert checks_for(0.1) <= sum(probe.trial.arm is Arm.HIT for probe in played.probes) <= checks_for(0.1) + 1
