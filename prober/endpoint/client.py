"""Sends probes over HTTP: the runner's Endpoint port."""

import asyncio
import dataclasses
import uuid
from collections.abc import Callable, Mapping

import httpx

from prober.domain.errors import ConfigError, ProberError
from prober.domain.observation import FailureKind, Observation, Refusal, Usage
from prober.domain.probe import ConnectionPolicy, Probe
from prober.domain.prompt import Prompt
from prober.domain.target import Target
from prober.endpoint.collector import Shape
from prober.endpoint.connection import Connections, Lease
from prober.endpoint.dialects.dialect import Dialect
from prober.endpoint.exchange import Bounds, Exchange
from prober.endpoint.json_string import SLICE_CHARACTERS
from prober.endpoint.labels import Blinds, label
from prober.endpoint.lag import LagSampler
from prober.endpoint.pacing import TenantPacing
from prober.endpoint.settings import ConnectionSettings, check_header
from prober.endpoint.timing import Stopwatch
from prober.runner.ports import Clock

_EVIDENCE_HEADERS = frozenset(
    {
        "cf-aig-cache-status",
        "cf-aig-log-id",
        "cf-ray",
        "content-type",
        "openai-processing-ms",
        "request-id",
        "retry-after",
        "server",
        "x-request-id",
    }
)
_EVIDENCE_PREFIX = "x-litellm-"
_EVIDENCE_HEADER_COUNT = 40


def _random_request_id() -> str:
    return str(uuid.uuid4())


class HttpEndpoint:
    """One target over HTTP/1.1. Satisfies `runner.ports.Endpoint`.

    `credentials` maps tenant names to secrets; an empty secret sends no credential header, a missing one is our own
    fault (INTERNAL). Raises ConfigError for settings or secrets that cannot be sent.
    """

    def __init__(
        self,
        *,
        target: Target,
        settings: ConnectionSettings,
        credentials: Mapping[str, str],
        clock: Clock,
        dialect: Dialect,
        request_ids: Callable[[], str] = _random_request_id,
    ) -> None:
        for secret in credentials.values():
            check_header(settings.credential_header, secret)
        self._target = target
        self._settings = settings
        self._credentials = dict(credentials)
        self._clock = clock
        self._dialect = dialect
        self._request_ids = request_ids
        self._url = httpx.URL(settings.base_url.rstrip("/") + dialect.path(target.model))
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
                start_wait = await pacing.start()
                return await self._send_now(probe, body, throttle_wait=place_wait + start_wait)
        except Exception as error:  # noqa: BLE001 - the boundary: an endpoint never raises
            return _internal(self._clock, error)

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
        )

    async def _send_now(self, probe: Probe, body: bytes, *, throttle_wait: float) -> Observation:
        request_id = self._request_ids()
        headers = self._headers(probe, request_id)
        is_shared = probe.connection is ConnectionPolicy.SHARED
        loan = self._connections.shared(probe.tenant.name) if is_shared else self._connections.fresh()
        async with loan as lease:
            request = lease.client.build_request("POST", self._url, content=body, headers=headers)
            stopwatch = Stopwatch(self._clock)
            is_proxied = self._settings.proxy is not None
            exchange = Exchange(self._dialect, stopwatch, self._bounds, probe.disconnect, is_proxied=is_proxied)
            sent_at = self._clock.now()
            with self._lag.watch() as lag:
                await _run(exchange, lease, request)
        timeline = stopwatch.timeline(throttle_wait=throttle_wait, loop_lag_seconds=lag.worst)
        answer = exchange.answer
        return Observation(
            sent_at=sent_at,
            request_id=request_id,
            status=exchange.status,
            failure=exchange.failure,
            failure_detail=exchange.failure_detail,
            refusal=self._blinded(exchange.refusal),
            text="" if answer is None else answer.text,
            reasoning="" if answer is None else answer.reasoning,
            other_text=exchange.other_text,
            finish_reason=None if answer is None else self._blinds.over_any(answer.finish_reason),
            usage=Usage() if answer is None else answer.usage,
            timeline=timeline,
            response_id=None if answer is None else self._blinds.over_any(answer.response_id),
            model_reported=None if answer is None else self._blinds.over_any(answer.model),
            evidence_headers=_evidence(exchange.headers, self._blinds),
            is_stream=answer is not None and answer.shape is Shape.STREAM,
            is_terminated=answer is not None and answer.is_terminated,
            token_frames=0 if answer is None else answer.token_frames,
            bad_frames=0 if answer is None else answer.bad_frames,
            bytes_received=exchange.bytes_received,
        )

    def _blinded(self, refusal: Refusal | None) -> Refusal | None:
        return None if refusal is None else dataclasses.replace(refusal, code=self._blinds.over(refusal.code))

    def _headers(self, probe: Probe, request_id: str) -> dict[str, str]:
        headers = {
            **self._settings.extra_headers,
            "Accept": "text/event-stream" if probe.stream else "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": self._settings.user_agent,
            "X-Request-Id": request_id,
        }
        secret = self._credentials.get(probe.tenant.name)
        if secret is None:
            raise ConfigError("the tenant has no credential")
        if secret:
            headers[self._settings.credential_header] = f"{self._settings.credential_scheme} {secret}".strip()
        return headers


async def _run(exchange: Exchange, lease: Lease, request: httpx.Request) -> None:
    try:
        await exchange.run(lease.client, request)
    finally:
        lease.is_spoiled = not exchange.is_whole


def _internal(clock: Clock, error: Exception) -> Observation:
    # Our own messages hold no secret; the text of a foreign exception may quote a header.
    detail = str(error) if isinstance(error, ProberError) else type(error).__name__
    return Observation(sent_at=clock.now(), failure=FailureKind.INTERNAL, failure_detail=detail)


def _evidence(headers: Mapping[str, str], blinds: Blinds) -> dict[str, str]:
    """Allow-listed headers, their values as labels."""
    allowed = (
        (blinds.over(label(name)), blinds.over(label(_first_part(value))))
        for name, value in headers.items()
        if value.strip() and (name in _EVIDENCE_HEADERS or name.startswith(_EVIDENCE_PREFIX))
    )
    return {name: value for (name, value), _ in zip(allowed, range(_EVIDENCE_HEADER_COUNT), strict=False)}


def _first_part(value: str) -> str:
    """A value without its parameters: `text/event-stream; charset=utf-8`."""
    return value.split(";", 1)[0].strip()
