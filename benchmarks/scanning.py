"""Answers searched for canaries of any prompt ever sent."""

from collections.abc import Iterator

from benchmarks.figure import Figure, Sizes, best_seconds
from benchmarks.material import KEYRING, natural_text, prompt_of
from prober.domain.target import TextForm
from prober.prompt.decoder import scan

OWN_BOUND = 10.0
NATURAL_BOUND = 100.0
"""MB/s."""


def scanning(sizes: Sizes) -> Iterator[Figure]:
    """Rate of the decoder, on text that is all canary and on text that holds none."""
    for form in TextForm:
        prompt = prompt_of(sizes.prompt_tokens, form)
        text = (prompt.text * (sizes.scan_characters // len(prompt.text) + 1))[: sizes.scan_characters]
        if not any(window.canary == prompt.canary for window in scan(text, KEYRING)):
            raise AssertionError("the decoder did not find the canary that the text is made of")
        name = f"scan of text that is all canary, {form.value}"
        yield Figure(name=name, value=_rate(text, sizes), unit="MB/s", at_least=OWN_BOUND)
    natural = natural_text(sizes.scan_characters)
    yield Figure(
        name="scan of natural text, with typographic marks",
        value=_rate(natural, sizes),
        unit="MB/s",
        at_least=NATURAL_BOUND,
    )
    plain = natural.encode("ascii", "replace").decode("ascii")
    yield Figure(name="scan of natural text, ASCII", value=_rate(plain, sizes), unit="MB/s", at_least=NATURAL_BOUND)


def _rate(text: str, sizes: Sizes) -> float:
    return len(text) / 1e6 / best_seconds(sizes.repeats, lambda: scan(text, KEYRING))
