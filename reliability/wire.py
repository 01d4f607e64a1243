"""A relay between prober and lab that keeps what the lab was sent: the lab itself must not know a canary."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from prober.domain.canary import Canary
from prober.prompt.decoder import scan
from prober.prompt.keyring import Keyring

QUIET_SECONDS = 20.0
_CHUNK = 1 << 16


class Wire:
    """Relays connections to one lab; `sent` holds all that clients wrote, whole requests or not."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: set[asyncio.Task[None]] = set()
        self.sent: list[bytearray] = []
        self.url = ""

    def canaries(self, keyring: Keyring) -> set[Canary]:
        """Decode whose text went over the wire since the latest `forget`, by the key alone."""
        # In a body of JSON a line's end is two characters.
        texts = (bytes(each).decode(errors="replace").replace("\\n", "\n") for each in self.sent)
        return {window.canary for text in texts for window in scan(text, keyring)}

    def forget(self) -> None:
        """Begin anew."""
        self.sent.clear()

    async def quiet(self) -> None:
        """Wait until all connections are closed: nothing of a killed client is under way any more."""
        async with asyncio.timeout(QUIET_SECONDS):
            while self._open:
                await asyncio.wait(self._open)

    async def relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        task = asyncio.current_task()
        if task is not None:
            self._open.add(task)
            task.add_done_callback(self._open.discard)
        kept = bytearray()
        self.sent.append(kept)
        with contextlib.suppress(OSError):
            lab_reader, lab_writer = await asyncio.open_connection("127.0.0.1", self._port)
            back = asyncio.create_task(_pump(lab_reader, writer, None))
            try:
                await _pump(reader, lab_writer, kept)
            finally:
                lab_writer.close()
                await asyncio.wait([back], timeout=QUIET_SECONDS)
                back.cancel()
        writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kept: bytearray | None) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            if kept is not None:
                kept += data
            writer.write(data)
            await writer.drain()
    # The lab's end of an answer, or the client's of its life, is passed on.
    with contextlib.suppress(OSError):
        writer.close()


@contextlib.asynccontextmanager
async def wire(lab_url: str) -> AsyncIterator[Wire]:
    """Relay to a lab from a free loopback port."""
    relay = Wire(int(lab_url.rpartition(":")[2]))
    server = await asyncio.start_server(relay.relay, "127.0.0.1", 0)
    relay.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield relay
    finally:
        server.close()
