"""What an answer's text says, after reading: counts, hashes and our own decoded canaries. No text of anyone's."""

import dataclasses
import enum

from prober.domain.canary import Canary
from prober.domain.prompt import NeedlePosition


class Tier(enum.Enum):
    """How a canary was recognised."""

    CODE = "code"
    """A whole self-authenticating window: 58 characters, 44-bit tag, no look-up."""
    LIVE = "live"
    """A shorter window that fits exactly one live probe held in memory: 38 characters."""
    PHRASE = "phrase"
    """The whole phrase of another live probe's needle: three words are 33 bits, six of a one-fact prompt 66."""
    FRAGMENTS = "fragments"
    """Code groups, word pairs, exclusive words, added up as log-likelihood ratios."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """Canary text of one probe seen in an answer, outside what the answering probe itself had sent."""

    tier: Tier
    canary: Canary
    is_live: bool
    """Sent by this process and still held; False: decoded by key alone (another region, an earlier run)."""
    windows: int
    """Decoded windows (tiers CODE and LIVE) or matched fragments."""
    first_block: int | None
    last_block: int | None
    """Position counters in the donor's prompt, mod 2048; None where the tier carries none."""
    evidence_bits: float
    """log2 of 1 / (false-attribution probability bound) for this answer."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FragmentTally:
    """Fragment evidence for one tenant, for the record even when below any threshold."""

    tenant_number: int
    canary: Canary | None
    """The best single probe, where the fragments tell."""
    groups: int
    pairs: int
    exclusive_words: int
    evidence_bits: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Which of the probe's own needles the answer holds, by containment after normalisation."""

    asked: tuple[NeedlePosition, ...] = ()
    found: tuple[NeedlePosition, ...] = ()

    @property
    def missed(self) -> tuple[NeedlePosition, ...]:
        """Asked for and not found, in prompt order."""
        return tuple(position for position in self.asked if position not in self.found)

    @property
    def is_end_missed(self) -> bool:
        """The decisive needle was asked for and is not there."""
        return NeedlePosition.END in self.missed

    @property
    def is_all_missed(self) -> bool:
        """Every needle asked for is missing, and at least one was asked for."""
        return bool(self.asked) and not self.found


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Garble:
    """Signs of corrupted decoding, counted over content and reasoning."""

    scripts: int = 0
    """Different non-Latin scripts; three or more is garble by vLLM issue #47282's rule."""
    replacements: int = 0
    """U+FFFD characters (LMCache issue #4492 counts them)."""
    longest_loop: int = 0
    """Characters of the longest stretch that repeats one piece of at most 32 characters, three times or more, within
    the first 65,536 of a channel."""
    doubled_words: int = 0
    """Different words that stand exactly twice in a row. Longer runs are a loop's, and so are the same doublings again
    and again: weak LLMs fall into loops of any length."""
    repeated_words: int = 0
    """Words that equal the one before."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All that detectors may know of an answer's text."""

    characters: int
    words: int
    sha256: str
    """Of the UTF-8 text of content and reasoning; hex."""
    own: tuple[Sighting, ...] = ()
    """The probe's own canary echoed: the positive control."""
    foreign: tuple[Sighting, ...] = ()
    fragments: tuple[FragmentTally, ...] = ()
    recall: Recall = Recall()
    novel_words: int = 0
    """Words that stand neither in the probe's own prompt nor in any needle or instruction of ours."""
    longest_novel_run: int = 0
    is_refusal_like: bool = False
    """Reads like a safety or inability template of an honest LLM."""
    garble: Garble = Garble()
    signature: tuple[int, ...] = ()
    """MinHash of the content's three-word shingles, 64 values; empty below 8 words. Equal shares estimate Jaccard."""
    letters: int = 0
    """Letters a-z in the content, either case."""
    digits: int = 0
    is_own_choice: bool = False
    """The content is one of the probe's own `options.choices`, after trimming."""
    foreign_choice: str = ""
    """The choice of another live probe that the content is, or begins with; our own words. Empty: none."""
    stray_words: int = 0
    """Words of other live probes' phrases, and of no text of this prompt's, in the content."""
    repeats_opening: bool = False
    """The content's first 40 characters come again later, outside a loop: an answer that began anew."""

    @property
    def novelty(self) -> float:
        """Share of words that are novel, 0..1; 0 for an empty answer."""
        return self.novel_words / self.words if self.words else 0.0
