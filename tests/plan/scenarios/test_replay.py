"""A-X-A, against targets that remember the wrong thing."""

import dataclasses

from prober.domain.finding import Reason
from prober.domain.options import Arm
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Role, Wave
from prober.plan.scenarios.replay import replay
from tests.support.scripted import LEAK, OnWave, Played, Reply, Respond, play, stage_of, target_of, unheard

DIVERGED = Reply(outcome=Outcome.SUSPECT, reason=Reason.REPLAY_DIVERGED)


def played_against(respond: Respond, *, shared: bool = False, on_wave: OnWave = unheard, **settings: object) -> Played:
    target = target_of(shared=shared)
    return play(replay(stage_of(target, tenants=4, **settings)), target, respond, on_wave=on_wave)


def sound(_probe: Probe, _tokens: int) -> Reply:
    return Reply()


class WrongSnapshot:
    """A prompt that came before is answered from the snapshot of whoever finished last."""

    def __init__(self) -> None:
        self.known: set[object] = set()
        self.last: Probe | None = None

    def __call__(self, probe: Probe, _tokens: int) -> Reply:
        text = probe.prompt.rewrite_of
        is_leak = text is not None and self.last is not None and self.last.tenant != probe.tenant
        self.last = probe
        return LEAK if is_leak else Reply()


def test_a_snapshot_of_another_session_is_met_by_the_first_replay():
    """A of one tenant, X of another, A again: the very first pair shows it."""
    played = played_against(WrongSnapshot(), shared=True)
    assert [probe.role for probe in played.probes] == [Role.REFERENCE] * 4 + [Role.NEIGHBOUR, Role.CHECK]
    assert [len(wave.probes) for wave in played.waves] == [1] * 6


class RowRace:
    """When a shorter prompt leaves the batch, a longer one that stays reads its row for a step."""

    def __init__(self) -> None:
        self.has_leaver = False

    def on_wave(self, wave: Wave) -> None:
        sizes = {probe.prompt.tokens or 228 for probe in wave.probes}
        self.has_leaver = len(sizes) > 1

    def __call__(self, probe: Probe, tokens: int) -> Reply:
        is_moved = self.has_leaver and tokens > 1_000 and probe.role in {Role.CHECK, Role.CONFIRMATION}
        return DIVERGED if is_moved else Reply()


def test_rows_that_leave_beside_a_replay_are_met():
    """In every second round A's and X's of different lengths are in flight together."""
    target = RowRace()
    played = played_against(target, on_wave=target.on_wave, rounds=2)
    diverged = [j.evidence.probe for j in played.judgements if j.outcome is Outcome.SUSPECT]
    assert {probe.role for probe in diverged} == {Role.CHECK, Role.CONFIRMATION}


def test_a_divergence_is_confirmed_by_the_same_step():
    """X and A go again, at once, with the A's as confirmations."""
    target = RowRace()
    played = played_against(target, on_wave=target.on_wave, rounds=2)
    again = next(wave for wave in played.waves if wave.probes[-1].role is Role.CONFIRMATION)
    before = played.waves[played.waves.index(again) - 1]
    assert [probe.role for probe in again.probes] == [Role.NEIGHBOUR] * 4 + [Role.CONFIRMATION] * 4
    assert [probe.prompt.rewrite_of for probe in again.probes] == [probe.prompt.rewrite_of for probe in before.probes]


def test_replays_are_byte_identical_and_find_their_reference_by_the_series():
    """Each check names the same text, tenant and series as its reference, on the other arm."""
    played = played_against(sound)
    references = {j.evidence.probe.trial.series: j for j in played.of(Role.REFERENCE)}
    assert list(references) == ["replay/1", "replay/2", "replay/3", "replay/4"]
    for judgement in played.of(Role.CHECK):
        probe, reference = judgement.evidence.probe, references[judgement.evidence.probe.trial.series]
        assert probe.prompt.is_replay
        assert judgement.evidence.prompt.text_sha256 == reference.evidence.prompt.text_sha256
        assert probe.tenant == reference.evidence.probe.tenant
        assert probe.trial == dataclasses.replace(reference.evidence.probe.trial, arm=Arm.CHECK)
    assert len(played.of(Role.CHECK)) == 8 * 4


def test_some_prompts_share_a_preamble_and_lengths_straddle_pages():
    """The first two are one tenant's and begin with the same text; lengths are not all whole pages."""
    played = played_against(sound)
    first, second, third, fourth = (j.evidence.probe for j in played.of(Role.REFERENCE))
    canary = played.of(Role.REFERENCE)[0].evidence.prompt.canary
    assert first.prompt.shared.source is None
    assert second.prompt.shared == dataclasses.replace(first.prompt.shared, source=canary)
    assert first.tenant == second.tenant
    assert third.prompt.shared is fourth.prompt.shared is None
    assert [probe.prompt.tokens % 64 for probe in (first, third, fourth)] == [0, 1, 63]


def test_every_replay_follows_another_tenants_prompt():
    """X's are of both sizes, never of a tenant that replays."""
    played = played_against(sound)
    neighbours = [probe for probe in played.probes if probe.role is Role.NEIGHBOUR]
    assert {probe.tenant for probe in neighbours}.isdisjoint(j.evidence.probe.tenant for j in played.of(Role.CHECK))
    assert {probe.prompt.tokens for probe in neighbours} == {None, 2_048}
    alone = [wave.probes[0] for wave in played.waves[4:] if len(wave.probes) == 1]
    assert [probe.role for probe in alone] == [Role.NEIGHBOUR, Role.CHECK] * (len(alone) // 2)
    beside = {(x.prompt.tokens, a.trial.series) for x, a in zip(alone[::2], alone[1::2], strict=True)}
    assert len(beside) == 8


def test_a_healthy_target_ends_clean():
    """Nothing is confirmed, nothing is missing; with room for one pair only, all go one by one."""
    played = played_against(sound)
    assert played.returned == ()
    assert played.of(Role.CONFIRMATION) == []
    assert all(len(wave.probes) == 1 for wave in played_against(sound, concurrency=2).waves)
