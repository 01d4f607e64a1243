"""The self-test's own receiver: a webhook on a loopback port that pages nobody."""

import asyncio
import contextlib
import hashlib
import hmac
import json
from collections.abc import AsyncIterator

MAX_BYTES = 64 * 1024
"""Most that headers, and that a body, may be long."""


class OwnReceiver:
    """Takes signed webhooks; `taken` holds type, target and reason of each that was rightly signed."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self.taken: list[tuple[str, str, str]] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, then close; what is no request of ours gets no answer."""
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, OSError):
                headers = _headers(await reader.readuntil(b"\r\n\r\n"))
                length = int(headers.get("content-length", "0"))
                if 0 <= length <= MAX_BYTES:
                    status = self._take(headers, await reader.readexactly(length))
                    writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
                    await writer.drain()
        finally:
            writer.close()

    def _take(self, headers: dict[str, str], body: bytes) -> str:
        # As docs/notifications.md tells receivers to, not by what signed it.
        signed = headers.get("x-prober-timestamp", "").encode() + b"." + body
        signature = "v1=" + hmac.new(self._secret.encode(), signed, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(signature.encode(), headers.get("x-prober-signature", "").encode()):
            return "401 Unauthorized"
        event = json.loads(body)
        issue = event.get("issue", {})
        self.taken.append((event.get("type", ""), issue.get("target", ""), issue.get("reason", "")))
        return "200 OK"


def _headers(head: bytes) -> dict[str, str]:
    lines = head.decode("latin-1").split("\r\n")[1:]
    return {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


@contextlib.asynccontextmanager
async def own_receiver(secret: str) -> AsyncIterator[OwnReceiver]:
    """Listen on a free loopback port; ends behind the caller."""
    receiver = OwnReceiver(secret)
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, limit=MAX_BYTES)
    try:
        receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/self-test"
        yield receiver
    finally:
        server.close()
