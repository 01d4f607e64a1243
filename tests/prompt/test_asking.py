"""What each ask puts into a prompt."""

import pytest

from prober.domain.canary import Canary
from prober.domain.probe import PromptSpec
from prober.domain.prompt import NeedlePosition
from prober.domain.target import Ask
from prober.prompt.asking import ASKINGS, rough_fixed_tokens
from prober.prompt.composer import compose
from tests.support.canary_text import KEYRING
from tests.support.token_counts import TEMPLATE_TOKENS, words_and_punctuation


def test_every_ask_has_its_way():
    """No ask is without a plan, and each asks for the END needle, the decisive one."""
    assert set(ASKINGS) == set(Ask)
    assert all(asking.told[-1] is NeedlePosition.END for asking in ASKINGS.values())


@pytest.mark.parametrize(
    ("ask", "question"),
    [
        (
            Ask.PHRASES_AND_COPY,
            (
                "Reply with the harbour phrase, the orchard phrase and the lantern phrase, "
                "then copy the last 30 words of the document.\n"
            ),
        ),
        (Ask.END_PHRASE, "Repeat the lantern phrase.\n"),
        (Ask.ONE_FACT, "Repeat the lantern phrase.\n"),
    ],
)
def test_questions(ask: Ask, question: str):
    """Each ask ends in its own question."""
    assert ASKINGS[ask].question() == question


@pytest.mark.parametrize("ask", list(Ask))
def test_rough_counts_are_those_of_words_and_marks(ask: Ask):
    """A tokenizer of words, marks and line ends counts the fixed lines just so."""
    text = compose(PromptSpec(filler_lines=8, ask=ask), Canary.of(1, 0, 1), KEYRING, None).text
    assert words_and_punctuation(text) == rough_fixed_tokens(ask) + 8 * 17 + TEMPLATE_TOKENS


@pytest.mark.parametrize("ask", list(Ask))
def test_the_rough_size_of_what_is_asked_does_not_change(ask: Ask):
    """It is worked out once in a process, by whoever asks first."""
    assert rough_fixed_tokens.__wrapped__(ask) == rough_fixed_tokens(ask) > 0
