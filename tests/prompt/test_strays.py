"""Words of other probes' phrases."""

from prober.domain.canary import Canary
from prober.domain.probe import PromptSpec
from prober.domain.target import Ask
from prober.prompt.alphabet import WORDS
from prober.prompt.composer import compose
from prober.prompt.strays import stray_words
from prober.prompt.wording import VOCABULARY
from tests.support.canary_text import KEYRING, live_of

FACT = PromptSpec(filler_lines=1, ask=Ask.ONE_FACT)
OWN = compose(FACT, Canary.of(1, 0, 1), KEYRING, None)
OTHER = compose(FACT, Canary.of(2, 0, 2), KEYRING, None)


def only_others() -> list[str]:
    return [word for word in OTHER.needles[0].phrase if word not in OWN.text and word not in VOCABULARY]


def test_words_of_another_phrase_are_stray_each_time():
    """A word that only another live probe's phrase explains counts as often as it stands there."""
    stray = only_others()
    assert len(stray) >= 4
    answer = f"{' '.join(OWN.needles[0].phrase)} {stray[0].upper()}, {stray[0]} {stray[1]}"
    assert stray_words(answer, OWN, live_of(OWN, OTHER)) == 3


def test_own_words_wording_and_unknown_words_are_not():
    """What stands in the own prompt, in any sentence of ours, or in nobody's phrase is no stray."""
    nobody = next(word for word in WORDS if word not in OWN.text and word not in OTHER.text)
    answer = f"{OWN.text} Here they are: {nobody} nonsense"
    assert stray_words(answer, OWN, live_of(OWN, OTHER)) == 0
    assert stray_words("", OWN, live_of(OWN, OTHER)) == 0


def test_a_probe_that_is_not_live_leaves_no_stray():
    """Phrases that nobody may ask for any more explain nothing."""
    assert stray_words(" ".join(only_others()), OWN, live_of(OWN)) == 0
