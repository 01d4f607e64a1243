"""Sockets for the HTTP client.

The client's stock sockets pause reading while a body is written. A server that refuses a large prompt early (401, 413)
and closes then shows as a broken pipe, and its refusal is lost. These read at all times, and tell what the kernel has
not yet delivered.
"""

import asyncio
import collections
import contextlib
import contextvars
import re
import ssl
from collections.abc import Iterable

import httpcore

from prober.endpoint.timing import kernel_send_queue

_READ_AHEAD_BYTES = 256 * 1024
_WRITE_SLICE_BYTES = 128 * 1024
_REFUSING = re.compile(rb"HTTP/1\.[01] [3-5]")


class Wire:
    """What the sockets tell the exchange that uses them; an exchange overrides what it wants to hear."""

    stream: "SocketStream | None" = None
    """The socket that was last written to."""
    is_closed_by_peer = False
    """The peer's end of data was read."""

    def on_connect(self) -> None:
        """Announce that a new connection is about to be opened."""

    def on_written(self) -> None:
        """Announce that more of the request went to the kernel."""

    def on_read(self) -> None:
        """Announce that bytes came."""


current_wire: contextvars.ContextVar[Wire] = contextvars.ContextVar("current_wire")
"""The exchange of this task: pooled sockets serve several, one after the other."""


class _Inbox(asyncio.Protocol):
    """Receives whatever comes, whenever it comes, up to a bound."""

    def __init__(self) -> None:
        self.chunks: collections.deque[bytes] = collections.deque()
        self.size = 0
        self.is_ended = False
        self.error: Exception | None = None
        self.transport: asyncio.Transport | None = None
        self._is_writable = True
        self._waiters: set[asyncio.Future[None]] = set()

    def data_received(self, data: bytes) -> None:
        self.chunks.append(data)
        self.size += len(data)
        if self.size > _READ_AHEAD_BYTES and self.transport is not None:
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self.is_ended = True
        self._wake()
        # Keep our side open: an early refusal may be followed by the peer's half-close while we still write.
        # Below TLS there are no half-closed connections.
        return self.transport is None or self.transport.get_extra_info("ssl_object") is None

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_ended = True
        self.error = exc
        self._is_writable = True
        self._wake()

    def pause_writing(self) -> None:
        self._is_writable = False

    def resume_writing(self) -> None:
        self._is_writable = True
        self._wake()

    def take(self, max_bytes: int) -> bytes:
        """Next bytes, at most `max_bytes`; there must be some."""
        chunk = self.chunks.popleft()
        if len(chunk) > max_bytes:
            self.chunks.appendleft(chunk[max_bytes:])
            chunk = chunk[:max_bytes]
        self.size -= len(chunk)
        if self.size <= _READ_AHEAD_BYTES and self.transport is not None and not self.is_ended:
            self.transport.resume_reading()
        return chunk

    async def until_readable(self) -> None:
        """Wait for bytes or the end."""
        while not self.chunks and not self.is_ended:
            await self._wait()

    @property
    def is_refusing(self) -> bool:
        """An answer of status 300 or above waits to be read: no more of a request needs to be written."""
        return bool(self.chunks) and _REFUSING.match(self.chunks[0]) is not None

    async def until_writable(self) -> None:
        """Wait until the kernel has taken what was written, the connection is lost, or a refusal came."""
        # Give the loop a pass first: a refusal that has arrived must be read before a write meets the closed peer.
        await asyncio.sleep(0)
        while not self._is_writable and not self.is_refusing:
            await self._wait()

    async def _wait(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)


class SocketStream(httpcore.AsyncNetworkStream):
    """One TCP connection, with or without TLS on top."""

    def __init__(self, inbox: _Inbox, transport: asyncio.Transport, tcp: asyncio.Transport) -> None:
        self._inbox = inbox
        self._transport = transport
        self._tcp = tcp
        inbox.transport = transport

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's interface
        """Next bytes; empty at the peer's end of data. Raises httpcore's ReadError and ReadTimeout."""
        try:
            async with asyncio.timeout(timeout):
                await self._inbox.until_readable()
        except TimeoutError as error:
            raise httpcore.ReadTimeout from error
        wire = current_wire.get(None)
        if self._inbox.chunks:
            if wire is not None:
                wire.on_read()
            return self._inbox.take(max_bytes)
        if self._inbox.error is not None:
            raise _because(httpcore.ReadError(), self._inbox.error)
        if wire is not None:
            wire.is_closed_by_peer = True
        return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - likewise
        """Hand all bytes to the kernel. Raises httpcore's WriteError and WriteTimeout."""
        wire = current_wire.get(None)
        if wire is not None:
            wire.stream = self
        view = memoryview(buffer)
        try:
            async with asyncio.timeout(timeout):
                for start in range(0, len(view), _WRITE_SLICE_BYTES):
                    await self._write_slice(view[start : start + _WRITE_SLICE_BYTES])
                    if wire is not None:
                        wire.on_written()
        except TimeoutError as error:
            raise httpcore.WriteTimeout from error

    async def _write_slice(self, piece: memoryview) -> None:
        if not self._transport.is_closing():
            self._transport.write(piece)
            await self._inbox.until_writable()
        # httpcore meets a failed write by reading the answer.
        if self._transport.is_closing() or self._inbox.is_refusing:
            raise _because(httpcore.WriteError(), self._inbox.error)

    async def aclose(self) -> None:
        """Close at once."""
        self.abort()
        await asyncio.sleep(0)

    def abort(self) -> None:
        """Close at once, without waiting for anything."""
        self._transport.abort()
        self._tcp.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's interface
    ) -> "SocketStream":
        """Put TLS on top. Raises httpcore's ConnectError and ConnectTimeout, with the cause attached."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                transport = await loop.start_tls(
                    self._transport, self._inbox, ssl_context, server_hostname=server_hostname
                )
        except TimeoutError as error:
            self.abort()
            raise httpcore.ConnectTimeout from error
        except OSError as error:
            self.abort()
            raise httpcore.ConnectError from error
        except BaseException:
            self.abort()
            raise
        if transport is None:
            raise httpcore.ConnectError
        # At 0 the TLS layer would pause writers that wait for nothing.
        transport.set_write_buffer_limits(high=1, low=0)
        return SocketStream(self._inbox, transport, self._tcp)

    def get_extra_info(self, info: str) -> object:
        """`is_readable`: an idle pooled connection with something to read is stale. Else the transport's own facts."""
        if info == "is_readable":
            return bool(self._inbox.chunks) or self._inbox.is_ended
        return self._transport.get_extra_info(info)

    def unacknowledged(self) -> int | None:
        """Bytes written that the peer's kernel has not acknowledged; None when it cannot be told."""
        if self._tcp.is_closing():
            return None
        queued = kernel_send_queue(self._tcp.get_extra_info("socket").fileno())
        return None if queued is None else queued + self._tcp.get_write_buffer_size()


class SocketBackend(httpcore.AsyncNetworkBackend):
    """Opens TCP connections."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's interface
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> SocketStream:
        """Connect to the first address that answers, in the resolver's order.

        Raises httpcore's ConnectError and ConnectTimeout, with the cause attached.
        """
        wire = current_wire.get(None)
        if wire is not None:
            wire.on_connect()
        try:
            async with asyncio.timeout(timeout):
                # No `happy_eyeballs_delay`: asyncio then leaks the winning socket when it is cancelled (Python 3.11).
                transport, inbox = await asyncio.get_running_loop().create_connection(
                    _Inbox,
                    host,
                    port,
                    local_addr=None if local_address is None else (local_address, 0),
                )
        except TimeoutError as error:
            raise httpcore.ConnectTimeout from error
        except OSError as error:
            raise httpcore.ConnectError from error
        for option in socket_options or ():
            with contextlib.suppress(OSError):
                transport.get_extra_info("socket").setsockopt(*option)
        transport.set_write_buffer_limits(high=0)
        return SocketStream(inbox, transport, transport)

    async def sleep(self, seconds: float) -> None:
        """Only asked for by the pool's own retries, which are off."""
        await asyncio.sleep(seconds)


def _because(error: Exception, cause: Exception | None) -> Exception:
    """Attach what the system said; httpcore's pool re-raises `from None`, which leaves the context alone."""
    error.__context__ = cause
    return error
