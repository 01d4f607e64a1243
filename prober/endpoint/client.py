"""Sends probes over HTTP: the runner's Endpoint port."""

import asyncio
import uuid
from collections.abc import Callable, Mapping

import httpx

from prober.domain.errors import ConfigError, ProberError
from prober.domain.observation import FailureKind, Observation
from prober.domain.probe import ConnectionPolicy, Probe
from prober.domain.prompt import Prompt
from prober.domain.target import Target
from prober.endpoint.connection import Connections, Lease
from prober.endpoint.dialects.dialect import Dialect
from prober.endpoint.exchange import Bounds, Exchange
from prober.endpoint.json_string import SLICE_CHARACTERS
from prober.endpoint.labels import Blinds
from prober.endpoint.lag import LagSampler
from prober.endpoint.observing import observed
from prober.endpoint.pacing import TenantPacing
from prober.endpoint.request_headers import request_headers
from prober.endpoint.settings import ConnectionSettings, check_header
from prober.endpoint.timing import Stopwatch
from prober.endpoint.token_pacing import TokenPaces, Toll
from prober.runner.book import reckon
from prober.runner.ports import Clock

_NEVER_SENT = frozenset({FailureKind.CONNECT, FailureKind.DNS, FailureKind.TLS, FailureKind.PROXY})


def _random_request_id() -> str:
    return str(uuid.uuid4())


class HttpEndpoint:
    """One target over HTTP/1.1. Satisfies `runner.ports.Endpoint`.

    `credentials` maps tenant names to secrets; an empty secret sends no credential header, a missing one is our own
    fault (INTERNAL). `urls` replaces the settings' address for tenants whose account stands in it; `paces` outlives
    this endpoint. Raises ConfigError for settings or secrets that cannot be sent.
    """

    def __init__(  # noqa: PLR0913 - all that makes one target's sender, by name
        self,
        *,
        target: Target,
        settings: ConnectionSettings,
        credentials: Mapping[str, str],
        clock: Clock,
        dialect: Dialect,
        request_ids: Callable[[], str] = _random_request_id,
        urls: Mapping[str, str] | None = None,
        paces: TokenPaces | None = None,
    ) -> None:
        for secret in credentials.values():
            check_header(settings.credential_header, secret)
        self._target = target
        self._settings = settings
        self._credentials = dict(credentials)
        self._clock = clock
        self._dialect = dialect
        self._request_ids = request_ids
        self._url = self._url_under(settings.base_url)
        self._urls = {tenant: self._url_under(url) for tenant, url in (urls or {}).items()}
        self._paces = paces or TokenPaces(tokens_per_minute=None, tenant_tokens_per_minute=None, clock=clock)
        self._connections = Connections(settings)
        self._pacing: dict[str, TenantPacing] = {}
        self._lag = LagSampler(clock)
        self._blinds = Blinds([*credentials.values(), *settings.extra_headers.values()])
        self._encoding = asyncio.Lock()
        hang_seconds = settings.hang_seconds
        self._bounds = Bounds(
            connect_seconds=settings.connect_timeout,
            hang_seconds=target.hang_seconds if hang_seconds is None else hang_seconds,
            deadline_seconds=settings.deadline_seconds,
            response_bytes=settings.max_response_bytes,
        )

    async def send(self, probe: Probe, prompt: Prompt) -> Observation:
        """Send once, never retry, never raise for what the remote did; a fault of our own is FailureKind.INTERNAL."""
        try:
            pacing = self._pacing_of(probe.tenant.name)
            async with pacing.place() as place_wait:
                body = await self._encoded(probe, prompt)
                tokens = reckon(prompt.planned_tokens, prompt.filler_words, probe.max_output_tokens).tokens
                toll = await self._paces.pay(probe.tenant.name, tokens)
                start_wait = await _started(pacing, toll)
                waited = place_wait + toll.waited + start_wait
                observation = await self._send_now(probe, body, throttle_wait=waited)
                if observation.refusal is not None or observation.failure in _NEVER_SENT:
                    toll.refund()
                return observation
        except Exception as error:  # noqa: BLE001 - the boundary: an endpoint never raises
            return _internal(self._clock, error)

    def _url_under(self, address: str) -> httpx.URL:
        return httpx.URL(address.rstrip("/") + self._dialect.path(self._target.model))

    async def close(self) -> None:
        """Close the kept-alive connections."""
        await self._connections.aclose()

    def _pacing_of(self, tenant: str) -> TenantPacing:
        pacing = self._pacing.get(tenant)
        if pacing is None:
            pacing = self._pacing[tenant] = TenantPacing(
                starts_per_period=self._settings.starts_per_period,
                period_seconds=self._settings.period_seconds,
                max_in_flight=self._settings.max_in_flight,
                clock=self._clock,
            )
        return pacing

    async def _encoded(self, probe: Probe, prompt: Prompt) -> bytes:
        """Build the body before the clock starts."""
        if len(prompt.text) <= SLICE_CHARACTERS:
            return self._body(probe, prompt)
        # Encoding megabytes on the loop would stall other probes; several encoders would hold the interpreter lock.
        async with self._encoding:
            return await asyncio.to_thread(self._body, probe, prompt)

    def _body(self, probe: Probe, prompt: Prompt) -> bytes:
        return self._dialect.body(
            self._target.model,
            prompt.text,
            max_output_tokens=probe.max_output_tokens,
            temperature=self._target.temperature,
            stream=probe.stream,
            extra=self._settings.extra_body,
            options=probe.options,
        )

    async def _send_now(self, probe: Probe, body: bytes, *, throttle_wait: float) -> Observation:
        options = probe.options
        request_id = self._request_ids() if options.request_id is None else options.request_id
        headers = request_headers(
            self._settings,
            options,
            secret=self._secret_of(probe.tenant.name),
            request_id=request_id,
            stream=probe.stream,
        )
        is_shared = probe.connection is ConnectionPolicy.SHARED
        loan = self._connections.shared(probe.tenant.name) if is_shared else self._connections.fresh()
        async with loan as lease:
            url = self._urls.get(probe.tenant.name, self._url)
            request = lease.client.build_request("POST", url, content=body, headers=headers)
            stopwatch = Stopwatch(self._clock)
            is_proxied = self._settings.proxy is not None
            exchange = Exchange(self._dialect, stopwatch, self._bounds, probe.disconnect, is_proxied=is_proxied)
            sent_at = self._clock.now()
            with self._lag.watch() as lag:
                await _run(exchange, lease, request)
        timeline = stopwatch.timeline(throttle_wait=throttle_wait, loop_lag_seconds=lag.worst)
        return observed(exchange, self._blinds, sent_at=sent_at, request_id=request_id, timeline=timeline)

    def _secret_of(self, tenant: str) -> str:
        secret = self._credentials.get(tenant)
        if secret is None:
            raise ConfigError("the tenant has no credential")
        return secret


async def _started(pacing: TenantPacing, toll: Toll) -> float:
    """Wait for the start; who gives up meanwhile has used nothing."""
    try:
        return await pacing.start()
    except BaseException:
        toll.refund()
        raise


async def _run(exchange: Exchange, lease: Lease, request: httpx.Request) -> None:
    try:
        await exchange.run(lease.client, request)
    finally:
        lease.is_spoiled = not exchange.is_whole


def _internal(clock: Clock, error: Exception) -> Observation:
    # Our own messages hold no secret; the text of a foreign exception may quote a header.
    detail = str(error) if isinstance(error, ProberError) else type(error).__name__
    return Observation(sent_at=clock.now(), failure=FailureKind.INTERNAL, failure_detail=detail)
