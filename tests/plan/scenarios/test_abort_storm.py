"""The abort storm, against targets whose aborts leave something behind."""

import dataclasses

import pytest

from prober.domain.answer import Answer
from prober.domain.probe import DisconnectMoment, Probe, Role, Wave
from prober.domain.target import Ask
from prober.plan.hangups import MOMENTS
from prober.plan.scenarios.abort_storm import abort_storm
from tests.support.scripted import (
    ABANDONED,
    LEAK,
    OnWave,
    Played,
    Reply,
    Respond,
    failing,
    healthy,
    play,
    stage_of,
    target_of,
    unheard,
)

TIMED = Reply(first_token_seconds=0.4, end_seconds=1.6)
UNCONFIRMED = dataclasses.replace(LEAK, is_confirmed=False)


def storm(respond: Respond, *, shared: bool = False, on_wave: OnWave = unheard, **settings: object) -> Played:
    target = target_of(shared=shared)
    stage = stage_of(target, tenants=4, **settings)
    return play(abort_storm(stage), target, respond, on_wave=on_wave)


def answer(probe: Probe, _tokens: int) -> Reply:
    return healthy(probe, TIMED)


class LateWriter:
    """Pages of a prompt aborted in its prefill are written on: whoever starts next, as long or shorter, reads them."""

    def __init__(self, leak: Reply = LEAK) -> None:
        self.leak = leak
        self.written: Probe | None = None
        self.has_leaked_to: list[Probe] = []

    def __call__(self, probe: Probe, tokens: int) -> Reply:
        if probe.disconnect is not None:
            if probe.disconnect.moment is DisconnectMoment.MID_PREFILL and probe.disconnect.after_seconds < 0.4:
                self.written = probe
            return ABANDONED
        writer, self.written = self.written, None
        if writer is None or tokens > (writer.prompt.tokens or 0):
            return TIMED
        self.has_leaked_to.append(probe)
        return self.leak if writer.tenant != probe.tenant else TIMED


def test_a_writer_that_outlives_its_request_is_met():
    """Victims of another tenant follow a prompt aborted in its prefill; on a shared target the first hit ends it."""
    target = LateWriter()
    played = storm(target, shared=True)
    assert played.judgements[-1].evidence.probe.scenario == "abort_storm"
    assert len(played.waves) == 3
    assert target.has_leaked_to


def test_a_first_hit_is_confirmed_by_another_storm():
    """A prompt by itself would show nothing: the very next waves abort again, at the same delays."""
    target = LateWriter(UNCONFIRMED)
    played = storm(target, rounds=1)
    roles = [{probe.role for probe in wave.probes} for wave in played.waves]
    first, again = (index for index, wave in enumerate(roles) if Role.NEIGHBOUR in wave)
    assert roles[again] == {Role.NEIGHBOUR, Role.CONFIRMATION}
    delays = [[probe.disconnect for probe in played.waves[index].probes] for index in (first, again)]
    assert delays[0] == delays[1]
    assert len(target.has_leaked_to) >= 2


def test_the_storm_hangs_up_at_every_moment_of_a_measured_life():
    """Before the headers, in the prefill and in the answer, of long prompts and short, spread over the phase."""
    played = storm(answer, rounds=9)
    aborted = [probe for probe in played.probes if probe.disconnect is not None]
    for moment in MOMENTS:
        hung_up = [probe for probe in aborted if probe.disconnect.moment is moment]
        seconds = [probe.disconnect.after_seconds for probe in hung_up]
        phase = 1.2 if moment is DisconnectMoment.MID_STREAM else 0.4
        assert {probe.prompt.tokens for probe in hung_up} == {2_048, 8_192}
        assert len(hung_up) == 9
        assert min(seconds) < 0.15 * phase
        assert 0.5 * phase < max(seconds) < phase


def test_victims_are_others_and_come_beside_at_and_after_the_first_hang_up():
    """Aborted tenants check nothing. One victim of a storm comes before its first hang-up, all others with it."""
    played = storm(answer)
    aborted = {probe.tenant for probe in played.probes if probe.disconnect is not None}
    checks = {probe.tenant for probe in played.probes if probe.role in {Role.CHECK, Role.LIVENESS}}
    assert aborted.isdisjoint(checks)
    assert len(checks) == 2
    storms = [wave for wave in played.waves if wave.probes[0].disconnect is not None]
    assert len(storms) == 8
    for wave in storms:
        plan = wave.probes[0].disconnect
        due = plan.after_seconds + (0.4 if plan.moment is DisconnectMoment.MID_STREAM else 0.0)
        beside, *others = (probe for probe in wave.probes if probe.role is Role.CHECK)
        assert 0.0 < beside.start_offset_seconds < due
        assert {probe.start_offset_seconds for probe in others} == {due}
        assert len(wave.probes) == 8


def test_victims_are_as_long_as_what_was_aborted_and_as_short_as_can_be():
    """Equal size and several pages for pages under a live writer, the smallest for state in a slot."""
    played = storm(answer)
    storms = [wave for wave in played.waves if wave.probes[0].disconnect is not None]
    for wave in storms:
        assert {probe.prompt.tokens for probe in wave.probes if probe.role is Role.CHECK} == {2_048, 512, None}
        after = played.waves[played.waves.index(wave) + 1]
        assert [(probe.role, probe.prompt.tokens) for probe in after.probes] == [(Role.CHECK, None)]
    smallest = [probe.prompt.ask for probe in played.probes if probe.prompt.tokens is None]
    assert set(smallest) == {Ask.ONE_FACT}


def test_every_round_ends_with_a_plain_generation():
    """One per round, by itself, after everything else of the round."""
    played = storm(answer, rounds=3)
    roles = [[probe.role for probe in wave.probes] for wave in played.waves]
    assert [index for index, wave in enumerate(roles) if wave == [Role.LIVENESS]] == [4, 7, 10]


class Wedging:
    """An abort in the prefill leaves the sender's queue blocked: from then on everything hangs."""

    def __init__(self) -> None:
        self.is_wedged = False

    def on_wave(self, wave: Wave) -> None:
        self.is_wedged |= any(
            probe.disconnect is not None and probe.disconnect.moment is DisconnectMoment.MID_PREFILL
            for probe in wave.probes
        )

    def __call__(self, probe: Probe, _tokens: int) -> Reply:
        return failing(Answer.HANG) if self.is_wedged else healthy(probe, TIMED)


def test_a_wedged_target_is_shown_by_the_plain_generation():
    """Though nothing of the storm came back, plain ones are sent last, twice; then the target is left alone."""
    target = Wedging()
    played = storm(target, on_wave=target.on_wave)
    assert [probe.role for probe in played.probes[-2:]] == [Role.LIVENESS] * 2
    assert sum(probe.role is Role.LIVENESS for probe in played.probes) == 2
    assert len(played.waves) == 5


@pytest.mark.parametrize("concurrency", [2, 3, 5, 16])
def test_a_storm_fits_the_concurrency(concurrency: int):
    """Aborts and victims of one round overlap: they are one wave, whatever is allowed."""
    played = storm(answer, concurrency=concurrency)
    for wave in played.waves:
        assert len(wave.probes) <= concurrency
        if any(probe.disconnect is not None for probe in wave.probes):
            assert any(probe.role is Role.CHECK for probe in wave.probes)


def test_a_healthy_target_ends_clean():
    """All rounds are played, nothing is confirmed, nothing is missing."""
    played = storm(answer)
    assert played.returned == ()
    assert played.of(Role.CONFIRMATION) == []
    assert len(played.of(Role.CHECK)) == 8 * 6
