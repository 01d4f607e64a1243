"""Talking to a lab over its socket."""

import json
from collections.abc import Mapping

import httpx

KEYS = {"key-of-a": "tenant-a", "key-of-b": "tenant-b"}


def bearer(key: str = "key-of-a") -> dict[str, str]:
    """Authorization header of one tenant."""
    return {"authorization": f"Bearer {key}"}


def chat_body(**fields: object) -> dict[str, object]:
    """Smallest chat request, with more fields."""
    return {"model": "lab-llm", "messages": [{"role": "user", "content": "Say red fox."}], "max_tokens": 8, **fields}


def frames(text: str) -> list[object]:
    """Payloads of a stream's data frames; the terminator stays a string."""
    found: list[object] = []
    for block in text.split("\n\n"):
        if not block:
            continue
        assert block.startswith("data: "), block
        payload = block.removeprefix("data: ")
        found.append(payload if payload == "[DONE]" else json.loads(payload))
    return found


async def post(url: str, body: Mapping[str, object], headers: Mapping[str, str] | None = None) -> httpx.Response:
    """Send one request on a connection of its own."""
    async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
        return await client.post(url, json=body, headers=bearer() if headers is None else headers)


async def get(url: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
    """Read one surface."""
    async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
        return await client.get(url, headers=bearer() if headers is None else headers)
