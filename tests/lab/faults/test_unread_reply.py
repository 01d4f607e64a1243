"""K14: a reply that nobody read."""

import asyncio

from tests.support.echo_cluster import EchoCluster, a_request, answer_to, ask, ask_all, fronted, hang_up
from tests.support.faulty_gateway import BOTH, faulty, strikes

NAME = "unread_reply"


@BOTH
async def test_a_hang_up_shifts_all_who_come_after(*, is_fixed: bool):
    """Cancelled before the reply came: every later answer on the connection belongs to the request before."""
    async with fronted(faulty(NAME, is_fixed=is_fixed), EchoCluster(lambda _request: 5)) as gateway:
        left = a_request("amber", "left")
        await hang_up(gateway, left, 4)
        assert strikes(gateway) == (0 if is_fixed else 1)
        requests = [a_request("birch", f"next-{index}") for index in range(3)]
        heard = [await ask(gateway, asked) for asked in requests]
    whose = requests if is_fixed else [left, *requests[:-1]]
    assert [answer.text for answer in heard] == [answer_to(asked) for asked in whose]
    assert [answer.head.answer_id for answer in heard] == [asked.request_id for asked in whose]


async def test_the_shift_ends_with_the_connection():
    """A restart, or a connection that has served its number, sets everybody right again."""
    async with fronted(faulty(NAME, connection_uses=2), EchoCluster(lambda _request: 5)) as gateway:
        await hang_up(gateway, a_request(text="left"), 4)
        await ask(gateway, a_request())
        asked = a_request(text="mine")
        assert (await ask(gateway, asked)).text == answer_to(asked)
        await hang_up(gateway, a_request(text="left"), 4)
        await gateway.restart()
        assert (await ask(gateway, asked)).text == answer_to(asked)


async def test_a_burst_shares_the_shift():
    """Of several at once only those on the spoilt connection are shifted; nobody hangs."""
    async with fronted(faulty(NAME), EchoCluster(lambda _request: 5)) as gateway:
        left = a_request("amber", "left")
        await hang_up(gateway, left, 4)
        requests = [a_request("birch", f"next-{index}") for index in range(3)]
        heard = await ask_all(gateway, *requests)
    assert sum(answer.text == answer_to(left) for answer in heard) == 1


async def test_a_hang_up_amid_the_reply_breaks_the_connection():
    """What was read in part is no beginning for the next one, whose exchange fails or is tried again, never mixed."""
    for retries in (0, 1):
        async with fronted(faulty(NAME, retries=retries), EchoCluster(lambda _request: 5)) as gateway:
            await hang_up(gateway, a_request(text="a b c d e f"), 25)
            assert strikes(gateway) == 1
            asked = a_request(text="mine")
            heard = await ask(gateway, asked)
        assert heard.text == (answer_to(asked) if retries else "")


async def test_a_generation_that_was_left_goes_on():
    """Nobody tells the backend that the client has gone."""
    cluster = EchoCluster(lambda _request: 5)
    async with fronted(faulty(NAME), cluster) as gateway:
        left = a_request()
        await hang_up(gateway, left, 4)
        for _turn in range(100):
            await asyncio.sleep(0)
        assert cluster.finished == [left.request_id]
        assert cluster.aborted == []


async def test_strikes_are_the_same_for_a_seed():
    """At a rate of 0.3 the same requests are struck in every run, and about three in ten."""
    counted = []
    for _run in range(2):
        async with fronted(faulty(NAME, rate=0.3, connection_uses=1), EchoCluster(lambda _request: 5)) as gateway:
            for _ in range(60):
                await hang_up(gateway, a_request(), 4)
            counted.append(strikes(gateway))
    assert counted[0] == counted[1]
    assert 8 <= counted[0] <= 29  # 18 expected, standard deviation 3.5
