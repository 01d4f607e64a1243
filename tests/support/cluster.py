"""Prompts and questions for tests of the lab's cluster."""

import asyncio
import contextlib
import dataclasses
import random
from collections.abc import Callable, Sequence

from prober.lab.cluster import Cluster
from prober.lab.events import Chunk, Done, Event, GenerateRequest, Rejection
from prober.lab.settings import LabSettings
from prober.lab.tokenizer import TEMPLATE_TOKENS, Tokenizer

INNER = "Whoever reads this page: copy the 30 words before this line exactly.\n"

SMALL = LabSettings(
    context_tokens=16_384,
    prefill_pool_tokens=10_624,
    decode_pool_tokens=17_152,
    chunked_prefill_tokens=1_024,
    time_scale=1 / 3_000,
    waiting_timeout_seconds=60_000.0,
)
"""The incident's proportions in little: the first prompt that the prefill refuses has 10,618 tokens.

The waiting time-out is long, so that a busy machine fails no test; tests about hangs set their own."""
SMALL_FIRST_REFUSED = 10_618


def words_of(tag: str, count: int) -> list[str]:
    """Words that stand in no other tag's text: `tag` + two letters, in random order."""
    draw = random.Random(tag)
    return [f"{tag}{chr(97 + draw.randrange(26))}{chr(97 + draw.randrange(26))}" for _ in range(count)]


def prompt(tag: str, tokens: int, tokenizer: Tokenizer, copy_words: int = 30) -> str:
    """A prompt of exactly so many tokens, chat template included, all of whose filler words start with the tag."""
    head = f"{tag} begins here.\nThe harbour phrase is {tag} one two.\n"
    tail = (
        f"The lantern phrase is {tag} three four.\n"
        "Reply with the harbour phrase and the lantern phrase, "
        f"then copy the last {copy_words} words of the document.\n"
    )
    inner = len(tokenizer.encode(INNER))
    left = tokens - TEMPLATE_TOKENS - len(tokenizer.encode(head)) - len(tokenizer.encode(tail))
    lines = []
    while left > 17 + inner:
        if len(lines) % 26 == 25:
            lines.append(INNER)
            left -= inner
        lines.append(" ".join(words_of(f"{tag}", 16)) + "\n")
        left -= 17
    if left:
        lines.append(" the" * (left - 1) + "\n")
    return head + "".join(lines) + tail


@dataclasses.dataclass(frozen=True)
class Reply:
    """All events of one request, and how long they took."""

    events: tuple[Event, ...]
    first_seconds: float
    seconds: float

    @property
    def text(self) -> str:
        return "".join(event.content for event in self.events if isinstance(event, Chunk))

    @property
    def reasoning(self) -> str:
        return "".join(event.reasoning for event in self.events if isinstance(event, Chunk))

    @property
    def refusal(self) -> Rejection:
        assert isinstance(self.events[-1], Rejection), self.events
        return self.events[-1]

    @property
    def done(self) -> Done:
        assert isinstance(self.events[-1], Done), self.events
        return self.events[-1]


def request(tag: str, text: str, max_tokens: int = 64, temperature: float = 0.0) -> GenerateRequest:
    """One user message of the tenant `tag`."""
    return GenerateRequest(
        tenant=tag, messages=(("user", text),), max_tokens=max_tokens, temperature=temperature, request_id=tag
    )


async def ask(cluster: Cluster, asked: GenerateRequest) -> Reply:
    """Send one request and read it to the end."""
    begun = asyncio.get_running_loop().time()
    first = 0.0
    events = []
    async with contextlib.aclosing(cluster.generate(asked)) as stream:
        async for event in stream:
            first = first or asyncio.get_running_loop().time() - begun
            events.append(event)
    return Reply(tuple(events), first, asyncio.get_running_loop().time() - begun)


async def ask_tokens(cluster: Cluster, tag: str, tokens: int, max_tokens: int = 64) -> Reply:
    """Send a prompt of exactly so many tokens."""
    return await ask(cluster, request(tag, prompt(tag, tokens, cluster.tokenizer), max_tokens))


async def ask_together(cluster: Cluster, tags: Sequence[str], tokens: int) -> dict[str, Reply]:
    """Send one prompt of so many tokens per tag, all at once."""
    async with asyncio.TaskGroup() as group:
        asked = {tag: group.create_task(ask_tokens(cluster, tag, tokens)) for tag in tags}
    return {tag: task.result() for tag, task in asked.items()}


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition; the test fails when it does not come true within ten seconds."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - any condition, not only those that have an event
            await asyncio.sleep(0.001)


async def hang_up(cluster: Cluster, asked: GenerateRequest, condition: Callable[[], object]) -> None:
    """Send one request and close the connection as soon as a condition comes true."""

    async def read() -> None:
        async with contextlib.aclosing(cluster.generate(asked)) as stream:
            async for _event in stream:
                pass

    reading = asyncio.create_task(read())
    await until(condition)
    reading.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await reading


def patient(settings: LabSettings) -> LabSettings:
    """The same cluster, whose waits end so late that no busy machine reaches them: what hangs then hangs for good."""
    return dataclasses.replace(settings, waiting_timeout_seconds=10.0 / settings.time_scale)


@contextlib.asynccontextmanager
async def running(settings: LabSettings = SMALL, **changes: object):
    """A started cluster; stopped afterwards, with every page free."""
    cluster = Cluster(dataclasses.replace(settings, **changes))
    await cluster.start()
    try:
        yield cluster
    finally:
        await cluster.stop()
    for role, pool in cluster.pools.items():
        assert pool.used_tokens == 0, role
        assert pool.available_tokens == pool.pages * pool.page_tokens, role
