"""Clients: one per probe by default, one per tenant where a scenario wants a kept-alive connection."""

import asyncio
import contextlib
import importlib
import importlib.util
import ssl
from collections.abc import AsyncIterator

import httpcore
import httpx

from prober.domain.errors import ConfigError
from prober.endpoint.network import SocketBackend
from prober.endpoint.settings import ConnectionSettings

SHARED_CONNECTIONS = 8
"""Per tenant. The pool's cost grows with the square of its connections, and its queue loses cancelled requests
(encode/httpcore issue #1093, PR #1035): with as many places as connections, nothing ever queues in it."""

_KEEP_ALIVE_SECONDS = 60.0
_NO_TIMEOUT = httpx.Timeout(None)
"""An exchange keeps its own time: a silence bound from request to answer, and a deadline over all."""


def tls_context(settings: ConnectionSettings) -> ssl.SSLContext | None:
    """The one context of a target, None where no TLS is spoken. Takes some 50 ms and reads files: not for hot paths.

    Raises ConfigError when a file cannot be used.
    """
    if not settings.is_tls:
        return None
    try:
        context = (
            httpx.create_ssl_context(trust_env=False)
            if settings.ca_file is None
            else ssl.create_default_context(cafile=settings.ca_file)
        )
    except (OSError, ValueError):
        raise ConfigError("ca_file cannot be read as PEM certificates") from None
    if settings.client_cert is not None:
        certificate, key = settings.client_cert
        try:
            # A password prompt on the terminal would block: an encrypted key is refused.
            context.load_cert_chain(certificate, key, password=lambda: b"")
        except (OSError, ValueError):
            raise ConfigError("client_cert cannot be read as a PEM certificate and its unencrypted key") from None
    return context


def _quicken_httpcore() -> None:
    """Do its imports now: otherwise they fall into timed probes.

    anyio's backend is loaded by the first lock (80 ms of event loop); sniffio is looked for by every lock, seven times
    a request, and each search costs 0.3 ms where it is not installed: hence it is among our dependencies.
    """
    for module in ("anyio._backends._asyncio", "sniffio"):
        importlib.import_module(module)


class _Transport(httpx.AsyncBaseTransport):
    """httpx over an httpcore pool of our own sockets; httpcore's exceptions pass through."""

    def __init__(self, pool: httpcore.AsyncConnectionPool) -> None:
        self._pool = pool

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        response = await self._pool.handle_async_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        # httpx parses a redirect's address even when it does not follow it, and raises for one it cannot parse.
        headers = [(name, value) for name, value in response.headers if name.lower() != b"location"]
        return httpx.Response(response.status, headers=headers, stream=_Body(response), extensions=response.extensions)

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.aiter_stream():
            yield chunk

    async def aclose(self) -> None:
        await self._response.aclose()


class Lease:
    """A client on loan."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.is_spoiled = False
        """Set it when a request was not read to its end: a pool loses track of connections under cancellation."""


class _Lane:
    """A shared client and who uses it."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.places = asyncio.Semaphore(SHARED_CONNECTIONS)
        self.users = 0
        self.is_retired = False


class Connections:
    """Hands out clients over one TLS context. HTTP/1.1, no environment, no redirects, no retries."""

    def __init__(self, settings: ConnectionSettings) -> None:
        _quicken_httpcore()
        self._settings = settings
        self._tls = tls_context(settings)
        self._lanes: dict[str, _Lane] = {}

    @contextlib.asynccontextmanager
    async def fresh(self) -> AsyncIterator[Lease]:
        """Lend a client of its own, with one connection that dies with it."""
        client = self._client(connections=1)
        try:
            yield Lease(client)
        finally:
            await client.aclose()

    @contextlib.asynccontextmanager
    async def shared(self, tenant: str) -> AsyncIterator[Lease]:
        """Lend the tenant's kept-alive client, on a connection nobody else is using.

        A lease that is spoiled, or ends by an exception, retires the client once its other users are done.
        """
        lane = self._lanes.get(tenant)
        if lane is None:
            lane = self._lanes[tenant] = _Lane(self._client(connections=SHARED_CONNECTIONS))
        lease = Lease(lane.client)
        lane.users += 1
        try:
            async with lane.places:
                yield lease
        except BaseException:
            lease.is_spoiled = True
            raise
        finally:
            lane.users -= 1
            if lease.is_spoiled:
                self._retire(tenant, lane)
            if lane.is_retired and not lane.users:
                await lane.client.aclose()

    def _retire(self, tenant: str, lane: _Lane) -> None:
        lane.is_retired = True
        if self._lanes.get(tenant) is lane:
            del self._lanes[tenant]

    async def aclose(self) -> None:
        """Close the shared clients; a later `shared` opens new ones."""
        lanes, self._lanes = self._lanes, {}
        for lane in lanes.values():
            lane.is_retired = True
            if not lane.users:
                await lane.client.aclose()

    def _client(self, *, connections: int) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=_Transport(self._pool(connections)),
            trust_env=False,
            follow_redirects=False,
            timeout=_NO_TIMEOUT,
        )

    def _pool(self, connections: int) -> httpcore.AsyncConnectionPool:
        if self._settings.proxy is None:
            return httpcore.AsyncConnectionPool(
                ssl_context=self._tls,
                max_connections=connections,
                max_keepalive_connections=connections,
                keepalive_expiry=_KEEP_ALIVE_SECONDS,
                network_backend=SocketBackend(),
            )
        proxy = httpx.Proxy(self._settings.proxy)
        return httpcore.AsyncHTTPProxy(
            proxy_url=httpcore.URL(
                scheme=proxy.url.raw_scheme, host=proxy.url.raw_host, port=proxy.url.port, target=b"/"
            ),
            proxy_auth=proxy.raw_auth,
            proxy_ssl_context=self._tls if proxy.url.scheme == "https" else None,
            ssl_context=self._tls,
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=_KEEP_ALIVE_SECONDS,
            network_backend=SocketBackend(),
        )
