"""Raw TCP servers that misbehave on purpose, and keep their own record of when what happened."""

import asyncio
import contextlib
import dataclasses
import json
import socket
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable

SSE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@dataclasses.dataclass(slots=True)
class Call:
    """One request as the server saw it; times are `time.monotonic()`."""

    connection: int
    method: str = ""
    path: str = ""
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    body: bytes = b""
    accepted_at: float = 0.0
    first_byte_at: float = 0.0
    body_at: float = 0.0
    sent: dict[str, float] = dataclasses.field(default_factory=dict)
    closed_at: float | None = None


class Peer:
    """What a handler works with."""

    def __init__(self, call: Call, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.call = call
        self.reader = reader
        self.writer = writer

    async def read_head(self) -> None:
        first = await self.reader.readexactly(1)
        self.call.first_byte_at = time.monotonic()
        head = first + await self.reader.readuntil(b"\r\n\r\n")
        request_line, *lines = head.decode("latin-1").split("\r\n")
        self.call.method, self.call.path, _ = request_line.split(" ", 2)
        self.call.headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
        }

    async def read_request(self) -> None:
        await self.read_head()
        self.call.body = await self.reader.readexactly(int(self.call.headers.get("content-length", "0")))
        self.call.body_at = time.monotonic()

    async def send(self, data: bytes, mark: str = "") -> None:
        """Write; the mark is set before the bytes can be on the wire."""
        if mark:
            self.call.sent.setdefault(mark, time.monotonic())
        self.writer.write(data)
        await self.writer.drain()

    async def until_closed(self) -> None:
        """Wait until the client hangs up."""
        with contextlib.suppress(ConnectionError):
            await self.reader.read()
        self.call.closed_at = time.monotonic()

    def reset(self) -> None:
        """Close with a TCP reset."""
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.writer.transport.abort()


Handler = Callable[[Peer], Awaitable[None]]


class HostileServer:
    """A listening server with one handler; `calls` is its record, `connections` counts accepted ones."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.calls: list[Call] = []
        self.connections = 0
        self.open = 0
        self.port = 0
        self.errors: list[BaseException] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        self.open += 1
        accepted = time.monotonic()
        try:
            while not reader.at_eof() and not writer.is_closing():
                call = Call(connection=number, accepted_at=accepted)
                self.calls.append(call)
                await self.handler(Peer(call, reader, writer))
                if not call.headers or call.headers.get("x-keep") != "alive":
                    break
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - shown by the fixture
            self.errors.append(error)
        finally:
            self.open -= 1
            writer.transport.abort()


@contextlib.asynccontextmanager
async def hostile(
    handler: Handler, *, tls: ssl.SSLContext | None = None, receive_buffer: int | None = None
) -> AsyncIterator[HostileServer]:
    """Serve on a free loopback port."""
    server = HostileServer(handler)
    listener = socket.create_server(("127.0.0.1", 0))
    if receive_buffer is not None:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    server.port = listener.getsockname()[1]
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(server.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    running = await asyncio.start_server(accept, sock=listener, ssl=tls, limit=1 << 16)
    try:
        yield server
    finally:
        running.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)  # noqa: TID251 - collects, never fails
        await asyncio.sleep(0)
    assert not server.errors, server.errors


def sse(payload: object) -> bytes:
    """One data frame."""
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return b"data: " + text.encode() + b"\n\n"


def delta(content: str | None = None, **other: object) -> bytes:
    """A chat completion chunk with a content delta."""
    return sse({"id": "chatcmpl-1", "model": "llm", "choices": [{"index": 0, "delta": {"content": content, **other}}]})


def finish(reason: str = "stop") -> bytes:
    """A chat completion chunk with a finish reason."""
    return sse({"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})


def usage(prompt_tokens: int, completion_tokens: int) -> bytes:
    """The usage chunk."""
    return sse({"choices": [], "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}})


DONE = b"data: [DONE]\n\n"


def response(status: str, body: bytes, content_type: str = "application/json", extra: str = "") -> bytes:
    """A whole HTTP response."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


def whole(content: str) -> bytes:
    """A JSON chat completion."""
    message = {"role": "assistant", "content": content}
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "model": "llm",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2},
        }
    ).encode()


def chunked(data: bytes) -> bytes:
    """One chunk of chunked transfer coding; empty data ends it."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def answering(*parts: bytes) -> Handler:
    """Read the request, then send the parts and close."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        for part in parts:
            await peer.send(part)
            await asyncio.sleep(0)

    return handler


def stalling(*parts: bytes) -> Handler:
    """Read the request, send the parts, then wait until the client hangs up."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        for part in parts:
            await peer.send(part)
        await peer.until_closed()

    return handler
