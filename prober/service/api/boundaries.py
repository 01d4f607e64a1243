"""What holds for every request and answer, whatever route it is for: size, time, headers, faults of our own."""

import asyncio
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prober.domain.errors import LedgerError
from prober.service.api.problems import Problem, ProblemKind

BODY_SECONDS = 10.0
"""A body that takes longer keeps a connection for nothing: the largest one is small."""

RETRY_SECONDS = 5

_CLOSE = {"Connection": "close"}
"""Spares both sides the rest of a body that nobody reads, and ends one that only drips (RFC 9110, section 15.5.9)."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Unless a route sets its own. Nothing may be kept by a cache: findings are confidential, evidence more so."""


class Bounded:
    """Reads a request's body before its route does, up to a number of bytes and seconds."""

    def __init__(self, app: ASGIApp, most_bytes: int, seconds: float = BODY_SECONDS) -> None:
        self._app = app
        self._most_bytes = most_bytes
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._seconds):
                body = await self._read(scope, receive)
        except TimeoutError:
            slow = f"Its body must arrive within {self._seconds:g} s."
            problem = Problem(ProblemKind.TOO_SLOW, slow, headers=_CLOSE)
            await problem.response()(scope, receive, send)
        except Problem as problem:
            await problem.response()(scope, receive, send)
        else:
            if body is not None:
                await self._app(scope, _replayed(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        """Read the body; None where the caller went away."""
        stated = Headers(scope=scope).get("content-length", "0")
        if stated.isdecimal() and int(stated) > self._most_bytes:
            raise self._too_large()
        body = bytearray()
        is_more = True
        while is_more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self._most_bytes:
                raise self._too_large()
            is_more = message.get("more_body", False)
        return bytes(body)

    def _too_large(self) -> Problem:
        return Problem(ProblemKind.TOO_LARGE, f"At most {self._most_bytes} bytes are read.", headers=_CLOSE)


def _replayed(body: bytes, receive: Receive) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


class Guarded:
    """Adds headers to every answer, and turns what a route raised into a problem that tells nothing of it."""

    def __init__(self, app: ASGIApp, report: Callable[[str, BaseException], None]) -> None:
        self._app = app
        self._report = report

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_answered = False

        async def answer(message: Message) -> None:
            nonlocal is_answered
            if message["type"] == "http.response.start":
                is_answered = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, answer)
        except Exception as error:  # noqa: BLE001 - the outermost frame: the server behind it would log the text
            self._report("api", error)
            if not is_answered:
                await _of_fault(error).response()(scope, receive, answer)


def _of_fault(error: Exception) -> Problem:
    if isinstance(error, LedgerError):
        retry = {"Retry-After": str(RETRY_SECONDS)}
        return Problem(ProblemKind.DATABASE_UNAVAILABLE, "Nothing was lost that was stored; try again.", headers=retry)
    return Problem(ProblemKind.INTERNAL, "It is counted among the internal errors, and logged by its class.")
