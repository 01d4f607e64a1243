"""A leak is found wherever it stands: another prompt's text must not pass because it came as something else."""

import json
from collections.abc import Callable

import pytest

from tests.support.command import Workplace
from tests.support.fake_llm import LIMIT, FakeLlm
from tests.support.hostile import DONE, SSE_HEAD, Peer, delta, finish, hostile, response, sse, usage

OVERFLOW = f"Input length (10042 tokens) exceeds the maximum allowed length ({LIMIT} tokens). "
ENDING = finish() + usage(10_042, 40) + DONE


def tool_call(text: str) -> dict[str, object]:
    return {"tool_calls": [{"index": 0, "function": {"name": "note", "arguments": json.dumps({"text": text})}}]}


def refused(text: str, status: str = "400 Bad Request") -> bytes:
    return response(status, json.dumps({"object": "error", "message": OVERFLOW + text, "code": 400}).encode())


HIDING_PLACES: dict[str, Callable[[str], bytes]] = {
    "reasoning": lambda leak: SSE_HEAD + delta("", reasoning_content=leak) + ENDING,
    "second-reasoning": lambda leak: SSE_HEAD + delta("", reasoning_content="hm", reasoning=leak) + ENDING,
    "reasoning-parts": lambda leak: SSE_HEAD + delta("", reasoning_details=[{"text": leak}]) + ENDING,
    "tool-call": lambda leak: SSE_HEAD + delta(None, **tool_call(leak)) + ENDING,
    "upper-case": lambda leak: SSE_HEAD + delta(leak.upper()) + ENDING,
    "joiners": lambda leak: SSE_HEAD + delta("\u200d".join(leak)) + ENDING,
    "one-character-frames": lambda leak: SSE_HEAD + b"".join(map(delta, leak)) + ENDING,
    "cut-frame": lambda leak: SSE_HEAD + delta(leak)[:-60],
    "length-refusal": refused,
    "plain-refusal": lambda leak: response("400 Bad Request", (OVERFLOW + leak).encode(), "text/plain"),
    "server-error": lambda leak: refused(leak, "500 Internal Server Error"),
    "error-frame": lambda leak: SSE_HEAD + sse({"error": {"message": OVERFLOW + leak, "code": 400}}) + DONE,
    "unreadable-frame": lambda leak: SSE_HEAD + b"data: {'error': '" + (OVERFLOW + leak).encode() + b"'}\n\n" + DONE,
    "stray-line": lambda leak: SSE_HEAD + b"oops " + leak.encode() + b"\n\n" + sse({"error": {"message": OVERFLOW}}),
    "unknown-body": lambda leak: response("200 OK", json.dumps({"output": [{"text": leak}]}).encode()),
    "after-a-refusal": lambda leak: SSE_HEAD + sse({"error": {"message": OVERFLOW}}) + delta(leak) + DONE,
}


class HidingLlm(FakeLlm):
    """Answers over-limit prompts from another tenant's pages, and puts that text where few would look."""

    def __init__(self, place: Callable[[str], bytes]) -> None:
        super().__init__(leaks=True)
        self.place = place

    async def answer(self, peer: Peer) -> None:
        await peer.read_request()
        text = json.loads(peer.call.body)["messages"][0]["content"]
        reply = self.reply(peer.call.headers["authorization"], text)
        if reply.prompt_tokens >= LIMIT:
            await peer.send(self.place(reply.text or ""))
        else:
            await peer.send(SSE_HEAD + delta(reply.text) + finish() + usage(reply.prompt_tokens, 40) + DONE)


@pytest.mark.parametrize("hiding_place", HIDING_PLACES)
async def test_a_leak_is_found_in_whatever_the_target_sends(hiding_place: str, place: Workplace):
    """Each of these answers makes the run a VIOLATION that names the canary, a correct-looking refusal included."""
    async with hostile(HidingLlm(HIDING_PLACES[hiding_place]).answer) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1", scenarios=["seed_and_probe"])
        finished = await place.invoke_beside("run", "--json", str(place.folder / "report.json"))

    verdict = json.loads((place.folder / "report.json").read_text())["verdict"]
    assert (finished.code, verdict["outcome"]) == (1, "violation")
    assert "foreign_canary" in verdict["reasons"]
