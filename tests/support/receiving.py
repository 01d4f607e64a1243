"""A receiver of notices: a real HTTP server that answers by a script, and remembers what it took."""

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from tests.support.hostile import HostileServer, Peer, hostile, response

HANG, DIE, TAKE_AND_DIE = "hang", "die", "take and die"


@dataclasses.dataclass
class Receiving:
    """`script` holds the next answers: a status, `429;7` with Retry-After, HANG, DIE; 200 when it is used up."""

    script: list[str | int] = dataclasses.field(default_factory=list)
    taken: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """Bodies that were answered 2xx, or would have been."""
    tries: int = 0
    server: HostileServer | None = None

    @property
    def url(self) -> str:
        assert self.server is not None
        return f"http://127.0.0.1:{self.server.port}/hook"

    @property
    def events(self) -> list[str]:
        """Ids taken, those within digests too, in order."""
        return [each["id"] for body in self.taken for each in body.get("events", [body])]

    async def handle(self, peer: Peer) -> None:
        await peer.read_request()
        self.tries += 1
        step = self.script.pop(0) if self.script else 200
        if step == HANG:
            await peer.until_closed()
            return
        if step in {200, 202, TAKE_AND_DIE}:
            self.taken.append(json.loads(peer.call.body))
        if step in {DIE, TAKE_AND_DIE}:
            peer.reset()
            return
        status, _, retry_after = str(step).partition(";")
        extra = f"Retry-After: {retry_after}\r\n" if retry_after else ""
        await peer.send(response(f"{status} Scripted", b"said", extra=extra))


@contextlib.asynccontextmanager
async def receiving(*script: str | int) -> AsyncIterator[Receiving]:
    """Serve on a free loopback port."""
    receiver = Receiving(script=list(script))
    async with hostile(receiver.handle) as server:
        receiver.server = server
        yield receiver


async def until(is_reached: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for something that a server or a log tells; a hang is a failure."""
    async with asyncio.timeout(seconds):
        while not is_reached():  # noqa: ASYNC110 - it is told by no event
            await asyncio.sleep(0.005)
