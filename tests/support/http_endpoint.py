"""An HttpEndpoint against a loopback server, with as little said as possible."""

import contextlib
import datetime as dt
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from prober.domain.canary import Canary
from prober.domain.observation import Observation
from prober.domain.probe import ConnectionPolicy, Disconnect, Expectation, Probe, PromptSpec, Role
from prober.domain.prompt import Prompt
from prober.domain.target import Target
from prober.domain.tenant import Tenant
from prober.endpoint.client import HttpEndpoint
from prober.endpoint.dialects import DIALECTS
from prober.endpoint.settings import ConnectionSettings
from prober.endpoint.token_pacing import TokenPaces
from tests.support.hostile import Handler, HostileServer, hostile

SECRET = "sk-tenant-secret-0123456789"
ALICE = Tenant(name="alice", number=1)
BOB = Tenant(name="bob", number=2)


class SystemClock:
    """Real time."""

    def now(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def make_probe(
    tenant: Tenant = ALICE,
    *,
    stream: bool = True,
    disconnect: Disconnect | None = None,
    connection: ConnectionPolicy = ConnectionPolicy.FRESH,
) -> Probe:
    return Probe(
        label="test/0001",
        scenario="test",
        tenant=tenant,
        role=Role.CHECK,
        prompt=PromptSpec(tokens=10),
        expectation=Expectation.SERVE,
        stream=stream,
        disconnect=disconnect,
        connection=connection,
    )


def make_prompt(text: str = "some words\n") -> Prompt:
    return Prompt(
        canary=Canary.of(1, 0, 5), text=text, needles=(), filler_words=2, planned_tokens=10, token_tolerance=2
    )


def make_endpoint(
    base_url: str,
    *,
    credentials: Mapping[str, str] | None = None,
    dialect: str = "openai-chat",
    urls: Mapping[str, str] | None = None,
    paces: TokenPaces | None = None,
    **settings: Any,  # noqa: ANN401 - fields of ConnectionSettings
) -> HttpEndpoint:
    bounds: dict[str, Any] = {
        "connect_timeout": 5.0,
        "hang_seconds": 5.0,
        "deadline_seconds": 10.0,
        "starts_per_period": 1000,
    }
    return HttpEndpoint(
        target=Target(name="target", model="llm", dialect=dialect, context_tokens=1000),
        settings=ConnectionSettings(base_url=base_url, **{**bounds, **settings}),
        credentials={"alice": SECRET, "bob": "sk-bob"} if credentials is None else credentials,
        clock=SystemClock(),
        dialect=DIALECTS[dialect],
        urls=urls,
        paces=paces,
    )


@contextlib.asynccontextmanager
async def serving(
    handler: Handler,
    *,
    receive_buffer: int | None = None,
    **settings: Any,  # noqa: ANN401 - fields of ConnectionSettings
) -> AsyncIterator[tuple[HttpEndpoint, HostileServer]]:
    """Serve by `handler`; give an endpoint that points there, and the server."""
    async with hostile(handler, receive_buffer=receive_buffer) as server:
        endpoint = make_endpoint(f"http://127.0.0.1:{server.port}/v1", **settings)
        try:
            yield endpoint, server
        finally:
            await endpoint.close()


async def observe(
    handler: Handler,
    probe: Probe | None = None,
    text: str = "some words\n",
    **settings: Any,  # noqa: ANN401 - fields of ConnectionSettings
) -> Observation:
    """What one probe brings back from a server that behaves like `handler`."""
    async with serving(handler, **settings) as (endpoint, _):
        return await endpoint.send(make_probe() if probe is None else probe, make_prompt(text))
