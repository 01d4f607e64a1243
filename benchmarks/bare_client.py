"""The floor: the same request over httpx as it comes, read with as little care as possible."""

import contextlib
import dataclasses
import json
import time
import uuid
from collections.abc import AsyncIterator

import httpx

from benchmarks.material import SECRET

_TLS = httpx.create_ssl_context(trust_env=False)
"""Made once: it takes some 50 ms, and nothing here speaks TLS."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BareAnswer:
    """What the floor measures."""

    request_id: str
    first_token: float
    """Seconds from handing over the request until the first non-empty content."""


@contextlib.asynccontextmanager
async def bare_client() -> AsyncIterator[httpx.AsyncClient]:
    """Open a client with httpx's defaults."""
    async with httpx.AsyncClient(trust_env=False, verify=_TLS, timeout=60) as client:
        yield client


async def ask(client: httpx.AsyncClient, url: str, text: str) -> BareAnswer:
    """Send one streamed chat request and read its answer to the end."""
    request_id = str(uuid.uuid4())
    body = {
        "model": "lab-llm",
        "messages": [{"role": "user", "content": text}],
        "max_tokens": 16,
        "temperature": 0.0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    headers = {"Authorization": f"Bearer {SECRET}", "X-Request-Id": request_id}
    first_token = None
    began = time.monotonic()
    async with client.stream("POST", f"{url}/v1/chat/completions", json=body, headers=headers) as response:
        response.raise_for_status()
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                choices = json.loads(line[6:])["choices"]
                if first_token is None and choices and choices[0]["delta"].get("content"):
                    first_token = time.monotonic() - began
    if first_token is None:
        raise AssertionError("the server sent no content")
    return BareAnswer(request_id=request_id, first_token=first_token)
