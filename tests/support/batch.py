"""One-fact prompts and mixed crowds for tests of the batch."""

import asyncio
import collections
import dataclasses
from collections.abc import Callable, Sequence

from prober.lab.cluster import Cluster
from prober.lab.dice import Dice
from prober.lab.events import GenerateRequest
from prober.lab.faults import seams_of
from prober.lab.scenes import SCENES
from prober.lab.seams import Seams
from prober.lab.settings import LabSettings
from tests.support.cluster import Reply, ask, running, words_of

BATCHED = SCENES["small-batched"]
COPIED = "Copy the last 30 words of the document."


def phrase(tag: str) -> str:
    """The six words that name a tag's prompt."""
    return " ".join(words_of(tag, 6))


def answer(tag: str) -> str:
    """The only sound answer to a tag's one-fact prompt."""
    return f"The lantern phrase is {phrase(tag)}."


def fact(tag: str, *, lines: int = 2, question: str = "Repeat the lantern phrase.") -> str:
    """A prompt that states one fact and asks for it; each of its words but the question's starts with the tag."""
    words = words_of(tag, 6 + 16 * lines)[6:]
    body = "".join(f" {' '.join(words[16 * line : 16 * line + 16])}\n" for line in range(lines))
    return f"Notebook {tag}.\n{body}The lantern phrase is {phrase(tag)}.\n{question}\n"


def asked(tag: str, *, lines: int = 2, question: str = "Repeat the lantern phrase.", **options: object):
    """A tag's request; `options` are fields of `GenerateRequest`."""
    fields = {"max_tokens": 64, **options}
    return GenerateRequest(
        tenant=tag, messages=(("user", fact(tag, lines=lines, question=question)),), request_id=tag, **fields
    )


async def staggered(cluster: Cluster, requests: Sequence[GenerateRequest], seconds: float = 0.001) -> list[Reply]:
    """Send requests one after the other, that much apart, without waiting for the answers."""

    async def later(index: int, request: GenerateRequest) -> Reply:
        await asyncio.sleep(index * seconds)
        return await ask(cluster, request)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(later(index, request)) for index, request in enumerate(requests)]
    return [task.result() for task in tasks]


def tags(count: int, first: str = "a") -> list[str]:
    """Tags of which none begins another: two letters and a mark."""
    return [f"{first}{chr(97 + number // 26)}{chr(97 + number % 26)}x" for number in range(count)]


def with_fault(name: str, rate: float = 1.0, settings: LabSettings = BATCHED, **changes: object) -> LabSettings:
    """Settings with one fault."""
    return dataclasses.replace(settings, faults={name: rate}, **changes)


async def crowd(settings: LabSettings, waves: int, size: int = 8) -> tuple[dict[str, Reply], Cluster]:
    """Waves of one-fact prompts of different lengths; each wave begins when the one before has ended."""
    replies: dict[str, Reply] = {}
    async with running(settings) as cluster:
        for wave in range(waves):
            names = tags(size, first=chr(97 + wave))
            requests = [asked(tag, lines=(7 * index + 3 * wave) % 11) for index, tag in enumerate(names)]
            replies |= dict(zip(names, await staggered(cluster, requests), strict=True))
    return replies, cluster


def foreign(replies: dict[str, Reply]) -> dict[str, list[str]]:
    """Words of other tags' prompts in each answer that has any."""
    found = {
        tag: [word for word in reply.text.replace(".", " ").split() if word[3:4] == "x" and not word.startswith(tag)]
        for tag, reply in replies.items()
    }
    return {tag: words for tag, words in found.items() if words}


def unsound(replies: dict[str, Reply]) -> list[str]:
    """Tags whose answer is not the sound one."""
    return [tag for tag, reply in replies.items() if reply.text != answer(tag)]


def seams_with(name: str, rate: float = 1.0) -> tuple[Seams, Callable[[], int]]:
    """Decisions with one fault, and how often it has struck."""
    counters: collections.Counter[str] = collections.Counter()
    return seams_of({name: rate}, (), Dice({name: rate}, 0, counters)), lambda: counters[f"fault_{name}"]


def share_struck(name: str, decide: Callable[[Seams, int], object], subjects: int = 600) -> float:
    """Share of subjects at which a fault with a rate of 0.3 strikes, each asked about once."""
    seams, struck = seams_with(name, 0.3)
    for subject in range(subjects):
        decide(seams, subject)
    return struck() / subjects
