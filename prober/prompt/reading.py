"""Read an answer: the only place that sees its text, and gives back counts, a hash and our own decoded canaries."""

import hashlib

from prober.domain.prompt import Prompt
from prober.domain.reading import Reading
from prober.prompt.fragments import tally
from prober.prompt.keyring import Keyring
from prober.prompt.live import LiveIndex
from prober.prompt.needles import recall
from prober.prompt.novelty import novelty
from prober.prompt.refusal import is_refusal_like
from prober.prompt.sightings import foreign_and_own


def read(content: str, reasoning: str, own: Prompt, keyring: Keyring, live: LiveIndex, *, other: str = "") -> Reading:
    """Read both channels of one answer against the prompt that asked for it; either may be empty.

    Sightings and fragments are sought in `other` too, which is what came beside them: errors, unreadable frames.
    Needles are sought in content and reasoning alike; words are counted in each for itself.
    A refusal is looked for in the content, in reasoning only where there is no content. `sha256` is that of content
    followed by reasoning, lone surrogates passed through. Nothing of the text remains.
    """
    text = f"{content}\n{reasoning}" if content and reasoning else content + reasoning
    everything = f"{text}\n{other}" if other else text
    own_sightings, foreign_sightings = foreign_and_own(everything, own, keyring, live)
    channels = (novelty(content), novelty(reasoning))
    return Reading(
        characters=len(content) + len(reasoning),
        words=sum(channel.words for channel in channels),
        sha256=hashlib.sha256((content + reasoning).encode("utf-8", "surrogatepass")).hexdigest(),
        own=own_sightings,
        foreign=foreign_sightings,
        fragments=tally(everything, own, live),
        recall=recall(text, own.needles),
        novel_words=sum(channel.novel_words for channel in channels),
        longest_novel_run=max(channel.longest_novel_run for channel in channels),
        is_refusal_like=is_refusal_like(content or reasoning),
    )
