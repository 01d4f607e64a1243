"""Read an answer: all that is judged comes from here, as counts, a hash and our own decoded canaries; no text does."""

import hashlib
import string

from prober.domain.options import PLAIN, RequestOptions
from prober.domain.prompt import Prompt
from prober.domain.reading import Reading
from prober.prompt.choices import trimmed
from prober.prompt.fragments import tally
from prober.prompt.garble import garble_of, repeats_opening
from prober.prompt.keyring import Keyring
from prober.prompt.live import LiveIndex
from prober.prompt.needles import recall
from prober.prompt.normalised import letters_of
from prober.prompt.novelty import novelty, words_of
from prober.prompt.refusal import is_refusal_like
from prober.prompt.sightings import foreign_and_own
from prober.prompt.signature import signature
from prober.prompt.strays import stray_words


def read(
    content: str,
    reasoning: str,
    own: Prompt,
    keyring: Keyring,
    live: LiveIndex,
    *,
    other: str = "",
    options: RequestOptions = PLAIN,
) -> Reading:
    """Read both channels of one answer against the prompt that asked for it; either may be empty.

    Sightings and fragments are sought in `other` too, which is what came beside them: errors, unreadable frames.
    Needles and signs of garble are sought in content and reasoning alike; words are counted in each for itself.
    Signature, letters, digits, choices, stray words and a repeated opening are the content's alone. A refusal is
    looked for in the content, in reasoning only where there is no content. `sha256` is that of content followed by
    reasoning, lone surrogates passed through. Nothing of the text remains.
    """
    text = f"{content}\n{reasoning}" if content and reasoning else content + reasoning
    everything = f"{text}\n{other}" if other else text
    own_sightings, foreign_sightings = foreign_and_own(everything, own, keyring, live)
    words = words_of(content), words_of(reasoning)
    channels = tuple(map(novelty, words))
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
        garble=garble_of((content, reasoning), words),
        signature=signature(words[0]),
        letters=len(letters_of(content.encode("ascii", "ignore").lower())),
        digits=sum(map(content.count, string.digits)),
        is_own_choice=trimmed(content) in options.choices,
        foreign_choice=_foreign_choice(content, own, live, options),
        stray_words=stray_words(content, own, live),
        repeats_opening=repeats_opening(content),
    )


def _foreign_choice(content: str, own: Prompt, live: LiveIndex, options: RequestOptions) -> str:
    """The choice of another live probe that the content is or begins with; none of its own, nor of its prompt's."""
    begun = live.choices.begun(trimmed(content), own.canary)
    return next((choice for choice in begun if choice not in options.choices and choice not in own.text), "")
