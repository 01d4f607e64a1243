"""What corrupted decoding looks like, apart from whose text it is."""

from typing import Final

from prober.detect.recall import is_decisive_missed, is_free
from prober.domain.evidence import Evidence

LEAST_SCRIPTS: Final = 3
"""Different non-Latin scripts in one answer to an English prompt (vLLM issue #47282's own rule)."""

LEAST_REPLACEMENTS: Final = 1
"""U+FFFD characters: 30 of 38 corrupted answers of LMCache issue #4492 held some, no control answer did."""

LEAST_LOOP: Final = 64
"""Characters of a loop that no honest answer to a recall question needs: a phrase of six words is thirty."""

_PLAIN_MISS_WORDS = 24


def is_salad(evidence: Evidence) -> bool:
    """Scripts or half characters that no honest answer to our prompts holds, whatever else is in it."""
    garble = evidence.reading.garble
    # An honest character that `max_tokens` cut in half leaves one.
    replacements = garble.replacements - (evidence.observation.finish_reason == "length")
    return is_free(evidence.probe) and (garble.scripts >= LEAST_SCRIPTS or replacements >= LEAST_REPLACEMENTS)


def is_looping(evidence: Evidence) -> bool:
    """A long loop in place of what was asked for; one behind a right answer is an honest LLM that does not stop."""
    return (
        is_free(evidence.probe)
        and evidence.reading.garble.longest_loop >= LEAST_LOOP
        and bool(evidence.reading.recall.asked)
        and is_decisive_missed(evidence)
    )


def is_stray(evidence: Evidence) -> bool:
    """A closed-world answer holds words of others' phrases in place of its own."""
    reading = evidence.reading
    is_closed_world = not reading.novel_words and not reading.is_refusal_like
    return is_closed_world and reading.stray_words > 0 and is_decisive_missed(evidence)


def is_plain_miss(evidence: Evidence) -> bool:
    """An answer that lacks what was asked for as any LLM may: few words of its own, a refusal, or a loop.

    24 words are enough to say that there is no such phrase; a longer answer tells something else.
    """
    reading = evidence.reading
    is_short = reading.words <= _PLAIN_MISS_WORDS and not is_stray(evidence)
    return is_short or reading.is_refusal_like or is_looping(evidence)


def is_garbled(evidence: Evidence) -> bool:
    """Either of these."""
    return is_salad(evidence) or is_looping(evidence)
