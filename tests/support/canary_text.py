"""Prompts of plain filler and the ways in which a copy of them gets mangled."""

import json
import random
from collections.abc import Callable

from prober.domain.canary import Canary
from prober.domain.options import PLAIN, RequestOptions
from prober.domain.prompt import Prompt
from prober.domain.target import TextForm
from prober.prompt import numbered_lines, word_stream
from prober.prompt.alphabet import WORDS
from prober.prompt.keyring import Keyring
from prober.prompt.live import LiveIndex

KEYRING = Keyring.create(bytes(range(32)))


def filler(
    canary: Canary, lines: list[int], *, keyring: Keyring = KEYRING, form: TextForm = TextForm.WORD_STREAM
) -> str:
    """Sections of filler in one piece."""
    module = word_stream if form is TextForm.WORD_STREAM else numbered_lines
    return b"".join(module.sections(keyring, canary, lines)).decode("ascii")


def prompt_of(
    canary: Canary, lines: int = 40, *, keyring: Keyring = KEYRING, form: TextForm = TextForm.WORD_STREAM
) -> Prompt:
    """Prompt that is filler and nothing else."""
    return Prompt(
        canary=canary,
        text=filler(canary, [125] * (lines // 125) + [lines % 125], keyring=keyring, form=form),
        needles=(),
        filler_words=16 * lines,
        planned_tokens=None,
        token_tolerance=2,
    )


def live_of(*prompts: Prompt, keyring: Keyring = KEYRING, options: RequestOptions = PLAIN) -> LiveIndex:
    """Index that holds word-stream prompts, in order."""
    index = LiveIndex(keyring)
    for prompt in prompts:
        index.remember(prompt, TextForm.WORD_STREAM, options)
    return index


def hyphenated(words: list[str]) -> str:
    """Every tenth word broken over two lines."""
    return " ".join(f"{w[:2]}-\n{w[2:]}" if i % 10 == 5 else w for i, w in enumerate(words))


MANGLINGS: dict[str, Callable[[list[str]], str]] = {
    "plain": " ".join,
    "upper case": lambda words: " ".join(words).upper(),
    "title case": lambda words: " ".join(words).title(),
    "no spaces": "".join,
    "newlines": "\n".join,
    "commas": ", ".join,
    "hyphens": "-".join,
    "numbered markdown": lambda words: "\n".join(f"{i}. **{word}**" for i, word in enumerate(words, 1)),
    "bulleted markdown": lambda words: "\n".join(f"* `{word}`" for word in words),
    "JSON list": json.dumps,
    "JSON with escapes": lambda words: json.dumps({"text": "\n".join(words)}),
    "zero-width joiners": lambda words: " ".join("\u200d".join(word) for word in words),
    "soft hyphens": lambda words: " ".join(f"{word[:2]}\u00ad{word[2:]}" for word in words),
    "full width": lambda words: " ".join("".join(chr(ord(c) + 0xFEE0) for c in word) for word in words),
    "prose quoting": lambda words: f'The page reads "{" ".join(words)}", and nothing else.',
    "line-break hyphens": hyphenated,
}


def noisy(words: list[str], rate: float, kind: str, rng: random.Random) -> list[str]:
    """Copy with errors: each word substituted, deleted, followed by an insertion, or with one letter wrong."""
    out: list[str] = []
    for word in words:
        if rng.random() >= rate:
            out.append(word)
        elif kind == "substitution":
            out.append(rng.choice(WORDS))
        elif kind == "insertion":
            out += [word, rng.choice(WORDS)]
        elif kind == "typo":
            place = rng.randrange(4)
            out.append(word[:place] + rng.choice("abcdefghijklmnopqrstuvwxyz") + word[place + 1 :])
    return out


NOISE_KINDS = ("substitution", "deletion", "insertion", "typo")
