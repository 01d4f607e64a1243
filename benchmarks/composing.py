"""A prompt of a million tokens, from its canary to its text."""

import functools
from collections.abc import Iterator

from benchmarks.figure import Figure, Sizes, best_seconds
from benchmarks.material import prompt_of
from prober.domain.target import TextForm

BOUND_SECONDS = 0.1


def composing(sizes: Sizes) -> Iterator[Figure]:
    """Wall time of the composer, both text forms."""
    for form in TextForm:
        seconds = best_seconds(sizes.repeats, functools.partial(prompt_of, sizes.prompt_tokens, form))
        name = f"compose {sizes.prompt_tokens:,} tokens, {form.value}"
        yield Figure(name=name, value=seconds, unit="s", at_most=BOUND_SECONDS)
