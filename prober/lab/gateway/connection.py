"""Kept-alive upstream connections: a request is written, its reply is read."""

import asyncio
import collections
import contextlib
from collections.abc import AsyncGenerator, Callable

from prober.domain.errors import LabError
from prober.lab.crew import Crew
from prober.lab.events import Done, FrontEvent, GenerateRequest, Head, Rejection

Answer = Callable[[GenerateRequest], AsyncGenerator[FrontEvent, None]]
"""The far end: a head, then the events of one answer."""


class ConnectionLostError(LabError):
    """No reply, or no whole one, can be read from the connection any more."""


class Connection:
    """One connection as HTTP/1.1 has it: requests are served one after the other, replies come in their order.

    Nothing on it says which request a reply belongs to: whoever reads gets what stands there next.
    """

    def __init__(self, crew: Crew, answer: Answer) -> None:
        self._requests: asyncio.Queue[GenerateRequest] = asyncio.Queue()
        self._incoming: asyncio.Queue[FrontEvent | None] = asyncio.Queue()
        self._failure: BaseException | None = None
        self._serving = crew.start(self._serve(answer))
        self._serving.add_done_callback(self._end)
        self.uses = 0
        """Requests written so far."""

    @property
    def is_dead(self) -> bool:
        """The far end serves no more requests here."""
        return self._serving.done()

    def write(self, request: GenerateRequest) -> None:
        """Send a request."""
        self.uses += 1
        self._requests.put_nowait(request)

    async def head(self) -> Head:
        """Read the beginning of the reply that stands next.

        Raises:
            ConnectionLostError: the connection ended, or what stands next is no beginning of a reply.
        """
        event = await self._next()
        if not isinstance(event, Head):
            raise ConnectionLostError("what stands next on the connection is no beginning of a reply")
        return event

    async def rest(self) -> AsyncGenerator[FrontEvent, None]:
        """Read what follows the head, up to the reply's end.

        Raises:
            ConnectionLostError: the connection ended.
        """
        event = await self._next()
        yield event
        while not isinstance(event, Done | Rejection):
            event = await self._next()
            yield event

    async def close(self) -> None:
        """Hang up: what the far end was generating is aborted, and has let go of everything afterwards."""
        self._serving.cancel()
        await asyncio.wait([self._serving])

    async def _next(self) -> FrontEvent:
        event = await self._incoming.get()
        if event is None:
            # Whoever reads next must see the end too.
            self._incoming.put_nowait(None)
            raise ConnectionLostError("the connection to the backend was lost") from self._failure
        return event

    def _end(self, serving: asyncio.Task[None]) -> None:
        self._failure = None if serving.cancelled() else serving.exception()
        self._incoming.put_nowait(None)

    async def _serve(self, answer: Answer) -> None:
        while True:
            request = await self._requests.get()
            event: FrontEvent | None = None
            async with contextlib.aclosing(answer(request)) as events:
                async for event in events:
                    self._incoming.put_nowait(event)
            if not isinstance(event, Done | Rejection):
                raise ConnectionLostError("the backend ended an answer without saying how")


class ConnectionPool:
    """Connections to one backend; the one that was given back last is taken first."""

    def __init__(self, connect: Callable[[], Connection], most_uses: int, counters: collections.Counter[str]) -> None:
        self._connect = connect
        self._most_uses = most_uses
        self._counters = counters
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()

    async def take(self) -> Connection:
        """An idle connection, or a new one."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_dead and connection.uses < self._most_uses:
                return connection
            await self.discard(connection)
        self._counters["connections_opened"] += 1
        connection = self._connect()
        self._all.add(connection)
        return connection

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next request."""
        self._idle.append(connection)

    async def discard(self, connection: Connection) -> None:
        """Close a connection and forget it."""
        self._counters["connections_discarded"] += 1
        self._all.discard(connection)
        await connection.close()

    async def close(self) -> None:
        """Close all, idle or not."""
        self._idle.clear()
        while self._all:
            await self.discard(self._all.pop())
