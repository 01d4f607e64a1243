"""Conversations of 2,000 tokens that do not all fit the device cache: they are parked, and come back."""

import asyncio
import collections
import dataclasses
import random
from collections.abc import Callable

from prober.lab.cluster import Cluster
from prober.lab.dice import Dice, counter_name
from prober.lab.faults import FAULTS, seams_of
from prober.lab.scenes import SCENES
from prober.lab.seams import Seams
from prober.lab.settings import LabSettings
from tests.support.cluster import Reply, ask, ask_tokens, prompt, request

SESSIONS = ("amber", "birch", "cedar", "delta", "ember", "fjord")
"""One tenant each; about the first two are evicted when the last one has been served."""
OTHER_SESSIONS = ("garnet", "hazel", "indigo", "jasper", "khaki", "lemon")
"""Served after those, they leave nothing of them on the device."""
SESSION_TOKENS = 2_000
DRAWS = 1_000


def with_fault(name: str, rate: float = 1.0, fixes: frozenset[str] = frozenset()) -> LabSettings:
    """The scene of a fault, with the fault."""
    return dataclasses.replace(SCENES[FAULTS[name].SCENE], faults={name: rate}, fixes=fixes)


async def park(cluster: Cluster, sessions: tuple[str, ...] = SESSIONS) -> None:
    """Serve each conversation once, and let what was evicted be written back."""
    for tag in sessions:
        await ask_tokens(cluster, tag, SESSION_TOKENS)
    await asyncio.sleep(0.02)


async def come_back(cluster: Cluster, tag: str) -> Reply:
    """Send a conversation again, byte for byte."""
    return await ask_tokens(cluster, tag, SESSION_TOKENS)


async def ask_after(
    cluster: Cluster, tag: str, shared: str, salt: str = "", *, tenant: str = "", tokens: int = 600
) -> Reply:
    """Send a prompt that begins with text that others send too."""
    asked = request(tag, shared + prompt(tag, tokens, cluster.tokenizer))
    return await ask(cluster, dataclasses.replace(asked, tenant=tenant or tag, cache_salt=salt))


def shared_text(name: str, words: int = 90) -> str:
    """A few lines that several prompts may begin with."""
    draw = random.Random(name)
    return " ".join(f"{name}{chr(97 + draw.randrange(26))}{chr(97 + draw.randrange(26))}" for _ in range(words)) + ".\n"


def is_sound(reply: Reply, tag: str) -> bool:
    """Whether an answer recalls both phrases of its prompt and copies thirty of its words, and says nothing else."""
    first, _, rest = reply.text.partition("\n")
    words = rest.split()
    return (
        first == f"The harbour phrase is {tag} one two. The lantern phrase is {tag} three four."
        and len(words) == 30
        and all(word.startswith(tag) for word in words)
    )


def strangers(reply: Reply, tag: str) -> set[str]:
    """Conversations whose words stand in an answer to another one."""
    return {other for other in SESSIONS if other != tag and other in reply.text}


def struck_share(name: str, decide: Callable[[Seams, int], bool], rate: float = 0.3) -> float:
    """Share of a thousand subjects that a fault at a rate strikes, by the decisions it leads to."""
    counters: collections.Counter[str] = collections.Counter()
    seams = seams_of({name: rate}, (), Dice({name: rate}, 0, counters))
    decisions = [decide(seams, number) for number in range(DRAWS)]
    assert sum(decisions) == counters[counter_name(name)]
    assert decisions == [decide(seams, number) for number in range(DRAWS)], "not repeatable"
    return sum(decisions) / DRAWS
