"""Clients: one per probe by default, kept alive for a tenant's next probes where a scenario wants that."""

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
"""Per tenant, a client with one connection each. The cost of a pool grows with the square of its connections, it loses
track of them under cancellation (encode/httpcore issue #1093, PR #1035), and closing it would cool down those that
other probes have warmed up."""

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
        """Set it when a request was not read to its end: its connection cannot carry another one."""


class _Lane:
    """One tenant's kept-alive clients."""

    def __init__(self) -> None:
        self.places = asyncio.Semaphore(SHARED_CONNECTIONS)
        self.idle: list[httpx.AsyncClient] = []
        self.is_closed = False


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
        client = self._client()
        try:
            yield Lease(client)
        finally:
            await client.aclose()

    @contextlib.asynccontextmanager
    async def shared(self, tenant: str) -> AsyncIterator[Lease]:
        """Lend one of the tenant's kept-alive clients that nobody else is using, the latest used first.

        A lease that is spoiled, or ends by an exception, ends its client; the tenant's others stay warm.
        """
        lane = self._lanes.setdefault(tenant, _Lane())
        async with lane.places:
            lease = Lease(lane.idle.pop() if lane.idle else self._client())
            try:
                yield lease
            except BaseException:
                lease.is_spoiled = True
                raise
            finally:
                if lease.is_spoiled or lane.is_closed:
                    await lease.client.aclose()
                else:
                    lane.idle.append(lease.client)

    async def aclose(self) -> None:
        """Close the shared clients, those on loan when they come back; a later `shared` opens new ones."""
        lanes, self._lanes = self._lanes, {}
        for lane in lanes.values():
            lane.is_closed = True
            while lane.idle:
                await lane.idle.pop().aclose()

    def _client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=_Transport(self._pool()),
            trust_env=False,
            follow_redirects=False,
            timeout=_NO_TIMEOUT,
        )

    def _pool(self) -> httpcore.AsyncConnectionPool:
        if self._settings.proxy is None:
            return httpcore.AsyncConnectionPool(
                ssl_context=self._tls,
                max_connections=1,
                max_keepalive_connections=1,
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
            max_connections=1,
            max_keepalive_connections=1,
            keepalive_expiry=_KEEP_ALIVE_SECONDS,
            network_backend=SocketBackend(),
        )
