"""A server in a process of its own that reads any request and streams one fixed answer, as cheaply as it can.

`python -m benchmarks.peer` prints its port and serves until it is terminated.
"""

import asyncio
import contextlib
import json
import re
import sys
from collections.abc import AsyncIterator

TOKENS = 20
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_READ_BYTES = 256 * 1024


def _answer() -> bytes:
    def event(**fields: object) -> bytes:
        return b"data: " + json.dumps({"id": "chatcmpl-1", "model": "lab-llm", **fields}).encode() + b"\n\n"

    def chunk(delta: dict[str, str], finish_reason: str | None = None) -> bytes:
        return event(choices=[{"index": 0, "delta": delta, "finish_reason": finish_reason}])

    usage = {"prompt_tokens": 1000, "completion_tokens": TOKENS}
    body = b"".join([chunk({"content": " word"})] * TOKENS)
    body += chunk({}, "stop") + event(choices=[], usage=usage) + b"data: [DONE]\n\n"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


_ANSWER = _answer()


async def _serve_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            left = int(length[1]) if length else 0
            while left:
                left -= len(await reader.read(min(left, _READ_BYTES)))
            writer.write(_ANSWER)
            await writer.drain()
    writer.close()


async def _serve() -> None:
    server = await asyncio.start_server(_serve_connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextlib.asynccontextmanager
async def peer() -> AsyncIterator[str]:
    """Run the server; give its URL without a path."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.peer", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(await process.stdout.readline())}"
    finally:
        process.terminate()
        await process.wait()


if __name__ == "__main__":
    asyncio.run(_serve())
