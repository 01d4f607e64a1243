"""The way of one request upstream: losses, retries, fallbacks."""

import asyncio
import dataclasses

import pytest

from prober.domain.errors import LabError
from prober.lab.events import Done, Rejection, Stage
from prober.lab.gateway_settings import GatewaySettings
from prober.lab.settings import LabSettings
from tests.support.cluster import SMALL
from tests.support.echo_cluster import EchoCluster, a_request, answer_to, ask, fronted
from tests.support.scripted_cluster import ANSWER, ScriptedCluster, rejection

LITE = dataclasses.replace(SMALL, model="lite")


def lab(backends: int = 1, *, groups: bool = False, **gateway: object) -> LabSettings:
    return dataclasses.replace(
        SMALL, backends=backends, other_groups=(LITE,) if groups else (), gateway=GatewaySettings(**gateway)
    )


def lost() -> ScriptedCluster:
    """A backend that is stopped under every request."""
    return ScriptedCluster((LabError("stopped"),))


async def test_a_lost_connection_is_tried_again_elsewhere():
    """Before anything was sent back, another backend takes over; the client sees one whole answer."""
    sound = EchoCluster()
    asked = a_request()
    async with fronted(lab(2, retries=1), lost(), sound) as gateway:
        gateway.backends[1].in_flight = 5
        heard = await ask(gateway, asked)
        assert (gateway.counters["retries"], gateway.counters["fallbacks"]) == (1, 0)
    assert heard.text == answer_to(asked)
    assert (heard.head.service.attempts, heard.head.service.backend) == (2, "lab-llm/1")
    assert heard.head.headers == {}


async def test_when_nobody_can_be_reached_the_client_is_told():
    """All attempts lost: 502 by the gateway itself, not a broken answer."""
    async with fronted(lab(2, retries=2), lost(), lost()) as gateway:
        heard = await ask(gateway, a_request())
        assert gateway.counters["retries"] == 2
    assert isinstance(heard.last, Rejection)
    assert (heard.last.status, heard.last.stage) == (502, Stage.ROUTER)


async def test_nobody_takes_over_amid_an_answer():
    """Once a client was sent something, a loss is a broken answer and never a second one."""
    sound = EchoCluster()
    broken = ScriptedCluster((ANSWER[0], LabError("stopped")))
    async with fronted(lab(2, retries=3), broken, sound) as gateway:
        gateway.backends[1].in_flight = 5
        with pytest.raises(LabError, match="lost"):
            await ask(gateway, a_request())
    assert sound.requests == []


async def test_a_crash_is_the_labs_own_failure():
    """What no server does is not hidden behind a retry."""
    async with fronted(lab(2, retries=3), *[ScriptedCluster((RuntimeError("bug"),)) for _ in range(2)]) as gateway:
        with pytest.raises(LabError) as failed:
            await ask(gateway, a_request())
        assert gateway.counters["retries"] == 0
    assert isinstance(failed.value.__cause__, RuntimeError)


@pytest.mark.parametrize("first", [lost(), ScriptedCluster((rejection(Stage.SCHEDULER, 500),))])
async def test_a_fallback_says_who_answered(first: ScriptedCluster):
    """Lost or failed in the own group, served by another: the answer has its name and says that it was a fallback."""
    async with fronted(lab(groups=True, falls_back=True), first, EchoCluster()) as gateway:
        heard = await ask(gateway, a_request())
        assert gateway.counters["fallbacks"] == 1
    assert isinstance(heard.last, Done)
    assert heard.head.model == "lite"
    assert heard.head.headers == {"x-litellm-attempted-fallbacks": "1"}
    assert heard.head.service.backend == "lite/0"


async def test_a_failure_of_the_last_group_is_what_the_client_sees():
    """A 5xx that nobody is left to make good comes through in its own words."""
    failing = [ScriptedCluster((rejection(Stage.SCHEDULER, 500, "out of memory"),)) for _ in range(2)]
    async with fronted(lab(groups=True, falls_back=True), *failing) as gateway:
        heard = await ask(gateway, a_request())
    assert isinstance(heard.last, Rejection)
    assert (heard.last.status, heard.last.message) == (500, "out of memory")


@pytest.mark.parametrize("status", [400, 413])
async def test_a_refusal_is_no_reason_to_fall_back(status: int):
    """Who is refused for the request's own fault is refused, whatever else could have been asked."""
    other = EchoCluster()
    refusing = ScriptedCluster((rejection(Stage.SCHEDULER, status),))
    async with fronted(lab(groups=True, falls_back=True, retries=2), refusing, other) as gateway:
        heard = await ask(gateway, a_request())
    assert heard.last.status == status
    assert other.requests == []


async def test_honest_losses_come_at_their_rate_and_are_made_good():
    """Connections break at the set rate, always the same ones for a seed; with retries no client is harmed."""
    counted = []
    for _ in range(2):
        async with fronted(lab(2, loss_rate=0.3, retries=8), EchoCluster(), EchoCluster()) as gateway:
            for _request in range(200):
                assert isinstance((await ask(gateway, a_request())).last, Done)
            counted.append(gateway.counters["upstream_losses"])
    assert counted[0] == counted[1]
    assert 50 < counted[0] < 130  # 200 requests at 0.3 / 0.7: 86 expected, standard deviation 11


async def test_a_hang_up_while_a_reply_waits_for_its_tick():
    """A client that goes before its tick ends takes nothing along: the others get their own."""
    cluster = EchoCluster()
    async with fronted(lab(tick_seconds=60.0), cluster) as gateway:
        requests = [a_request(text=str(index)) for index in range(4)]
        asking = [asyncio.create_task(ask(gateway, asked)) for asked in requests]
        await asyncio.sleep(0.005)
        asking[1].cancel()
        async with asyncio.timeout(5):
            await asyncio.wait(asking)
    assert [task.result().text for task in (asking[0], *asking[2:])] == [
        answer_to(asked) for asked in (requests[0], *requests[2:])
    ]
