"""Connections and their pool."""

import asyncio
import collections
from collections.abc import AsyncGenerator

import pytest

from prober.lab.crew import Crew
from prober.lab.events import Chunk, Done, FrontEvent, GenerateRequest, Head, Service
from prober.lab.gateway.connection import Connection, ConnectionLostError, ConnectionPool
from tests.support.echo_cluster import a_request

DONE = Done(finish_reason="stop", prompt_tokens=1, completion_tokens=1)


async def far_end(request: GenerateRequest) -> AsyncGenerator[FrontEvent, None]:
    """Says the prompt; a prompt `crash`, `short` or `for ever` does what it says."""
    text = request.messages[0][1]
    await asyncio.sleep(0)
    if text == "crash":
        raise RuntimeError("broken")
    yield Head(answer_id=request.request_id, service=Service(answer_of=request.request_id, backend="b"))
    yield Chunk(content=text)
    if text == "for ever":
        await asyncio.Event().wait()
    if text != "short":
        yield DONE


def connect() -> Connection:
    return Connection(Crew(), far_end)


async def read(connection: Connection) -> str:
    await connection.head()
    events = [event async for event in connection.rest()]
    assert events[-1] == DONE
    return "".join(event.content for event in events if isinstance(event, Chunk))


async def test_replies_come_in_the_order_of_the_requests():
    """One connection serves one request after the other, and each reading takes one whole reply."""
    connection = connect()
    for text in ("one", "two", "three"):
        connection.write(a_request(text=text))
    assert [await read(connection) for _ in range(3)] == ["one", "two", "three"]
    assert (connection.uses, connection.is_dead) == (3, False)
    await connection.close()
    assert connection.is_dead


async def test_a_reply_left_unread_is_what_the_next_reader_gets():
    """Nothing on a connection tells whose reply stands next: that is for its users to keep in order."""
    connection = connect()
    connection.write(a_request(text="left behind"))
    connection.write(a_request(text="mine"))
    assert await read(connection) == "left behind"
    await connection.close()


async def test_the_rest_of_a_reply_is_no_beginning():
    """Who comes after somebody that left amid a reply notices at once."""
    connection = connect()
    connection.write(a_request(text="one"))
    await connection.head()
    with pytest.raises(ConnectionLostError, match="no beginning"):
        await read(connection)
    await connection.close()


@pytest.mark.parametrize("text", ["crash", "short"])
async def test_a_broken_far_end_is_told_to_every_reader(text: str):
    """An answer that crashes, or ends without saying how, ends the connection for all who read from it."""
    connection = connect()
    connection.write(a_request(text=text))
    with pytest.raises(ConnectionLostError) as lost:
        await read(connection)
    assert isinstance(lost.value.__cause__, RuntimeError if text == "crash" else ConnectionLostError)
    with pytest.raises(ConnectionLostError):
        await read(connection)
    assert connection.is_dead


async def test_a_missing_end_is_noticed_after_a_whole_reply_too():
    """That the reply before was whole says nothing about this one."""

    async def silent(request: GenerateRequest) -> AsyncGenerator[FrontEvent, None]:
        async for event in far_end(request):
            if request.messages[0][1] == "one":
                yield event

    connection = Connection(Crew(), silent)
    connection.write(a_request(text="one"))
    assert await read(connection) == "one"
    connection.write(a_request(text="two"))
    async with asyncio.timeout(5):
        with pytest.raises(ConnectionLostError):
            await read(connection)


async def test_closing_aborts_what_is_being_answered():
    """Who waits on a connection that is closed learns it, and the far end has ended."""
    connection = connect()
    connection.write(a_request(text="for ever"))
    reading = asyncio.create_task(read(connection))
    await asyncio.sleep(0.01)
    await connection.close()
    async with asyncio.timeout(5):
        with pytest.raises(ConnectionLostError):
            await reading


def a_pool(most_uses: int = 10) -> tuple[ConnectionPool, collections.Counter[str]]:
    counters: collections.Counter[str] = collections.Counter()
    return ConnectionPool(connect, most_uses, counters), counters


async def use(connection: Connection) -> None:
    connection.write(a_request(text="x"))
    await read(connection)


async def test_the_pool_gives_the_latest_connection_first():
    """A kept-alive connection is used again, the warmest one first."""
    pool, counters = a_pool()
    first, second = await pool.take(), await pool.take()
    pool.give_back(first)
    pool.give_back(second)
    assert [await pool.take(), await pool.take()] == [second, first]
    assert counters["connections_opened"] == 2
    await pool.close()


async def test_the_pool_closes_worn_and_dead_connections():
    """A connection serves so many requests and no more; one that died is not handed out again."""
    pool, counters = a_pool(most_uses=2)
    worn = await pool.take()
    for _ in range(2):
        await use(worn)
    dead = await pool.take()
    await dead.close()
    for connection in (worn, dead):
        pool.give_back(connection)
    fresh = await pool.take()
    assert fresh not in {worn, dead}
    assert worn.is_dead
    assert (counters["connections_opened"], counters["connections_discarded"]) == (3, 2)
    await pool.close()


async def test_closing_the_pool_closes_connections_in_use():
    """A pool that closes leaves no connection behind, wherever it is."""
    pool, _counters = a_pool()
    idle, busy = await pool.take(), await pool.take()
    pool.give_back(idle)
    await pool.close()
    assert idle.is_dead
    assert busy.is_dead
