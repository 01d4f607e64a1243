"""Requests that must be refused, against targets that keep something of them."""

import dataclasses

from prober.domain.answer import Answer
from prober.domain.campaign import Campaign, ScenarioSettings
from prober.domain.finding import Reason
from prober.domain.options import Malformation
from prober.domain.outcome import Outcome
from prober.domain.probe import ConnectionPolicy, Disconnect, DisconnectMoment, Expectation, Probe, Role
from prober.endpoint.request_options import malformed
from prober.plan.course import PATIENCE
from prober.plan.rehearsal import estimate
from prober.plan.scenarios.provoked_refusals import provoked_refusals
from tests.support.scripted import LEAK, Played, Reply, Respond, failing, healthy, play, stage_of, target_of, tenants_of

SERVED_INVALID = Reply(outcome=Outcome.SUSPECT, reason=Reason.SERVED_INVALID)


def played_against(respond: Respond, *, shared: bool = False, **settings: object) -> Played:
    target = target_of(shared=shared)
    return play(provoked_refusals(stage_of(target, **settings)), target, respond)


def answer(probe: Probe, _tokens: int) -> Reply:
    return healthy(probe)


def broken_of(played: Played) -> list[Probe]:
    return [probe for probe in played.probes if probe.options.malformation is not None]


def test_every_cause_is_tried_and_followed_by_a_sound_request_in_its_place():
    """Same tenant, same session, same kept-alive connection, one at a time, right after each other."""
    played = played_against(answer)
    waves = [wave for wave in played.waves if wave.probes[0].role is not Role.DONOR]
    assert all(len(wave.probes) == 1 for wave in waves)
    pairs = list(zip(waves[::2], waves[1::2], strict=True))
    assert [broken.probes[0].options.malformation for broken, _ in pairs] == list(Malformation)
    for (broken,), (sound,) in ((first.probes, second.probes) for first, second in pairs):
        assert (broken.role, sound.role) == (Role.NEIGHBOUR, Role.CHECK)
        assert (broken.tenant, broken.options.session) == (sound.tenant, sound.options.session)
        assert {broken.connection, sound.connection} == {ConnectionPolicy.SHARED}
        assert sound.options.malformation is None


def test_broken_requests_must_be_refused_and_cap_their_output():
    """Only the output limit beyond the context may be clamped instead; no answer to any may be long."""
    played = play(provoked_refusals(stage_of(target_of(thinking=True))), target_of(thinking=True), answer)
    for probe in broken_of(played):
        is_open = probe.options.malformation is Malformation.OUTPUT_BEYOND_CONTEXT
        assert probe.expectation is (Expectation.EITHER if is_open else Expectation.REJECT)
        assert probe.max_output_tokens == 64
        hang_up = Disconnect(moment=DisconnectMoment.AFTER_TOKENS, after_tokens=64)
        assert probe.disconnect == (hang_up if is_open else None)


def test_what_it_costs_holds_on_a_target_that_generates_until_its_window_is_full():
    """The limit that is sent is beyond any window: the estimate counts on the hang-up, and each output on its cap."""
    scenarios = ("provoked_refusals",)
    campaign = Campaign(target=target_of(), tenants=tenants_of(3), scenarios=scenarios, settings=ScenarioSettings())
    played = played_against(answer)
    spent = estimate(campaign)
    assert sum(probe.max_output_tokens for probe in played.probes) <= spent.output_tokens
    assert spent.output_tokens < 64 * spent.requests + 1
    for probe in broken_of(played):
        is_capped = option_is_sent(probe) or probe.disconnect is not None
        assert is_capped, probe.options.malformation


def option_is_sent(probe: Probe) -> bool:
    """Whether the request says how long the answer may be, in a number that a server can keep to."""
    request = malformed({"model": "m", "messages": [], "max_tokens": 64}, "max_tokens", probe.options.malformation)
    cap = request["max_tokens"]
    return isinstance(cap, int) and cap <= probe.max_output_tokens


def test_pools_are_seeded_by_others_first():
    """What a stub would read is somebody's: donors come before everything, and never send a broken request."""
    played = played_against(answer, rounds=5)
    assert [probe.role for probe in played.probes[:5]] == [Role.DONOR] * 5
    donors = {j.evidence.probe.tenant for j in played.of(Role.DONOR)}
    assert donors.isdisjoint(probe.tenant for probe in broken_of(played))


def test_a_refusal_that_lives_on_is_met_and_confirmed_by_the_same_cause():
    """A schema that fails late is served: the very same cause is tried once more, with a confirmation after it."""

    def respond(probe: Probe, _tokens: int) -> Reply:
        return SERVED_INVALID if probe.options.malformation is Malformation.BROKEN_SCHEMA else healthy(probe)

    played = played_against(respond)
    causes = [probe.options.malformation for probe in broken_of(played)]
    assert causes.count(Malformation.BROKEN_SCHEMA) == 2
    assert len(causes) == len(Malformation) + 1
    (confirmation,) = played.of(Role.CONFIRMATION)
    index = played.judgements.index(confirmation)
    assert played.probes[index - 1].options.malformation is Malformation.BROKEN_SCHEMA


class Leftover:
    """What a late refusal leaves in the session, the next turn is answered from."""

    def __init__(self) -> None:
        self.left: str | None = None

    def __call__(self, probe: Probe, _tokens: int) -> Reply:
        if probe.options.malformation is Malformation.BROKEN_LOGIT_BIAS:
            self.left = probe.options.session
        elif self.left is not None and probe.options.session == self.left:
            return LEAK
        return healthy(probe)


def test_what_a_refusal_leaves_behind_is_met_by_the_next_turn():
    """The leak shows in the sound request, and ends the scenario on a shared target."""
    played = played_against(Leftover(), shared=True)
    assert played.judgements[-1].is_confirmed_violation
    assert played.probes[-1].role is Role.CHECK
    assert played.probes[-2].options.malformation is Malformation.BROKEN_LOGIT_BIAS


def test_refusals_that_never_come_are_not_waited_for_ten_times():
    """Sound requests are answered between them, yet three hangs say enough."""

    def respond(probe: Probe, _tokens: int) -> Reply:
        return Reply() if probe.options.malformation is None else failing(Answer.HANG)

    played = played_against(respond)
    assert len(broken_of(played)) == PATIENCE
    assert len(played.of(Role.CHECK)) == PATIENCE


def test_a_rate_to_exclude_goes_through_the_causes_again():
    """Further rounds are another tenant's, in a session of their own."""
    played = played_against(answer, rounds=1, excluded_leak_rate=0.2)
    checks = [j.evidence.probe for j in played.of(Role.CHECK)]
    assert len(checks) == 2 * len(Malformation)
    assert len({(probe.tenant, probe.options.session) for probe in checks}) == 2
    assert played.returned == ()
    assert dataclasses.replace(checks[0], label="") != dataclasses.replace(checks[-1], label="")
