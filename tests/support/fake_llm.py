"""A small honest LLM behind a fixed length limit, over a function call or over HTTP, with faults to switch on."""

import dataclasses
import json
import re
from collections.abc import Callable

from prober.domain.observation import Observation, Refusal, RefusalReason, Timeline, Usage
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from tests.support.evidence import NOON
from tests.support.hostile import DONE, SSE_HEAD, Handler, Peer, delta, finish, response, usage
from tests.support.token_counts import one_per_word

LIMIT = 9_978
"""First rejected length: a prefill pool of 9,984 tokens less 6."""

_PHRASE = re.compile(r"The (\w+) phrase is ([a-z]{4} [a-z]{4} [a-z]{4})\.")
_FILLER_LINE = re.compile(r"^(?: [a-z]{4}){16}$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Reply:
    """What the LLM says to one prompt; text None: refused for its length."""

    text: str | None
    prompt_tokens: int
    model: str = "llm"


@dataclasses.dataclass
class FakeLlm:
    """Remembers every prompt, as a KV cache would. With `leaks`, a prompt over the limit is answered from another's."""

    leaks: bool = False
    miscounts: bool = False
    """Counts 100 tokens too many for prompts over 1,000 tokens."""
    models: Callable[[int], str] = lambda _number: "llm"
    """Name to report for the n-th request, from 0."""
    prompts: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    """Who asked, and what."""

    def reply(self, tenant: str, text: str) -> Reply:
        """Answer like an LLM that read the whole prompt: the phrases, then the last two lines of filler."""
        model = self.models(len(self.prompts))
        self.prompts.append((tenant, text))
        tokens = one_per_word(text)
        if tokens >= LIMIT:
            return Reply(self._foreign(tenant) if self.leaks else None, tokens, model)
        counted = tokens + 100 if self.miscounts and tokens > 1_000 else tokens
        phrases = [f"The {noun} phrase is {phrase}." for noun, phrase in _PHRASE.findall(text)]
        return Reply("\n".join([*phrases, *_FILLER_LINE.findall(text)[-2:]]), counted, model)

    def _foreign(self, tenant: str) -> str:
        """Pages of the longest prompt of another tenant."""
        donor = max((text for owner, text in self.prompts if owner != tenant), key=len)
        return " ".join(_FILLER_LINE.findall(donor)[10:14])

    def observe(self, probe: Probe, prompt: Prompt) -> Observation:
        """Answer as the endpoint would report it."""
        reply = self.reply(probe.tenant.name, prompt.text)
        if reply.text is None:
            refusal = Refusal(reason=RefusalReason.LENGTH, stated_limits=(LIMIT,), stated_tokens=reply.prompt_tokens)
            return Observation(sent_at=NOON, status=400, refusal=refusal)
        return Observation(
            sent_at=NOON,
            status=200,
            text=reply.text,
            finish_reason="stop",
            usage=Usage(prompt_tokens=reply.prompt_tokens, completion_tokens=40),
            timeline=Timeline(first_token=reply.prompt_tokens / 10_000, end=reply.prompt_tokens / 10_000 + 0.1),
            model_reported=reply.model,
            is_stream=True,
            is_terminated=True,
            token_frames=2,
        )

    def handler(self) -> Handler:
        """Answer over HTTP, as a stream."""

        async def answer(peer: Peer) -> None:
            await peer.read_request()
            text = json.loads(peer.call.body)["messages"][0]["content"]
            reply = self.reply(peer.call.headers.get("authorization", ""), text)
            if reply.text is None:
                message = (
                    f"Input length ({reply.prompt_tokens} tokens) exceeds the maximum allowed length ({LIMIT} tokens). "
                    "Use a shorter input or enable --allow-auto-truncate."
                )
                body = {"object": "error", "message": message, "type": "BadRequestError", "code": 400}
                await peer.send(response("400 Bad Request", json.dumps(body).encode()))
                return
            await peer.send(SSE_HEAD + delta("", role="assistant"))
            await peer.send(delta(reply.text) + finish() + usage(reply.prompt_tokens, 40) + DONE)

        return answer
