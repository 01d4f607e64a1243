"""Cancel and burst, against gateways whose connections get out of step."""

import dataclasses

import pytest

from prober.domain.options import Malformation
from prober.domain.probe import ConnectionPolicy, DisconnectMoment, Probe, Role
from prober.domain.target import Ask
from prober.plan.scenarios.keepalive import HANG_UPS, MOST_SECONDS, keepalive
from tests.support.scripted import ABANDONED, LEAK, Played, Reply, Respond, healthy, play, stage_of, target_of

UNCONFIRMED = dataclasses.replace(LEAK, is_confirmed=False)


def played_against(respond: Respond, *, shared: bool = False, **settings: object) -> Played:
    target = target_of(shared=shared)
    return play(keepalive(stage_of(target, **settings)), target, respond)


def answer(probe: Probe, _tokens: int) -> Reply:
    return healthy(probe, Reply(first_token_seconds=0.2, end_seconds=0.4))


class OutOfStep:
    """A request cancelled within 50 ms leaves its reply on the gateway's connection: all later ones shift by one."""

    def __init__(self, leak: Reply = LEAK) -> None:
        self.leak = leak
        self.unread: Probe | None = None

    def __call__(self, probe: Probe, _tokens: int) -> Reply:
        if probe.disconnect is not None:
            self.unread = probe
            return ABANDONED
        if self.unread is None or probe.connection is not ConnectionPolicy.SHARED:
            return Reply()
        previous, self.unread = self.unread, probe
        return self.leak if previous.tenant != probe.tenant else Reply()


def test_a_reply_left_behind_is_met_by_the_burst():
    """The first burst after a cancellation shows the shift; on a shared target nothing follows it."""
    played = played_against(OutOfStep(), shared=True)
    assert {probe.role for probe in played.waves[-1].probes} == {Role.CHECK}
    leaks = [j for j in played.judgements if j.is_confirmed_violation]
    assert len(leaks) >= 2
    assert {j.evidence.probe.role for j in leaks} == {Role.CHECK}


def test_a_first_hit_is_confirmed_by_another_cancellation():
    """The re-probe cancels again before it bursts."""
    played = played_against(OutOfStep(UNCONFIRMED), rounds=1)
    roles = [{probe.role for probe in wave.probes} for wave in played.waves[2:]]
    assert roles == [{Role.NEIGHBOUR}, {Role.CHECK}, {Role.NEIGHBOUR}, {Role.CONFIRMATION}]


def test_everything_travels_on_kept_connections_that_were_warmed_up():
    """Every tenant's connection has carried an answer before the first cancellation."""
    played = played_against(answer)
    assert {probe.connection for probe in played.probes} == {ConnectionPolicy.SHARED}
    warming = [probe for probe in played.probes if probe.role is Role.REFERENCE]
    assert played.probes[: len(warming)] == warming
    assert {probe.tenant for probe in warming} == {probe.tenant for probe in played.probes}


def test_bursts_ask_one_fact_for_every_tenant_right_after_cancellations():
    """Two requests are cancelled per round, then as many questions as may go together, of all tenants in turn."""
    played = played_against(answer)
    rounds = played.waves[2:]
    assert len(rounds) == 2 * 8
    for cancelled, burst in zip(rounds[::2], rounds[1::2], strict=True):
        assert [probe.disconnect.moment for probe in cancelled.probes] == [DisconnectMoment.BEFORE_HEADERS] * HANG_UPS
        assert len(burst.probes) == 8
        assert {probe.tenant.number for probe in burst.probes} == {0, 1, 2}
        assert {probe.prompt.ask for probe in (*cancelled.probes, *burst.probes)} == {Ask.ONE_FACT}
        assert all(first.tenant != second.tenant for first, second in zip(burst.probes, burst.probes[1:], strict=False))


@pytest.mark.parametrize(("first_token", "most"), [(0.2, MOST_SECONDS), (0.01, 0.009), (None, MOST_SECONDS)])
def test_cancellations_come_within_milliseconds(first_token: float | None, most: float):
    """1 to 50 ms after sending, sooner where answers are quicker than that."""
    played = played_against(lambda probe, _: healthy(probe, Reply(first_token_seconds=first_token)))
    seconds = [probe.disconnect.after_seconds for probe in played.probes if probe.disconnect is not None]
    assert len(seconds) == 8 * HANG_UPS
    assert all(0 < after <= most for after in seconds)
    assert max(seconds) > most / 2
    assert min(seconds) < most / 10


def test_a_healthy_gateway_ends_clean():
    """Nothing is confirmed, nothing is missing, nothing was broken on purpose."""
    played = played_against(answer)
    assert played.returned == ()
    assert played.of(Role.CONFIRMATION) == []
    assert not any(isinstance(probe.options.malformation, Malformation) for probe in played.probes)
    assert len(played.of(Role.CHECK)) == 8 * 8
