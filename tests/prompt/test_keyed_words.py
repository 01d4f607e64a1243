"""Words that follow from key and canary."""

import pytest

from prober.domain.canary import Canary
from prober.domain.errors import KeyringError
from prober.prompt.alphabet import WORDS
from prober.prompt.keyed_words import keyed_words
from prober.prompt.keyring import Keyring

KEYRING = Keyring.create(bytes(range(32)))


def test_words_depend_on_each_input():
    """Key, tenant, probe and purpose each change the words; the same inputs repeat them."""
    canary = Canary.of(1, 0, 1)
    drawn = [
        keyed_words(KEYRING, canary, "a", 4),
        keyed_words(Keyring.create(b"x" * 32), canary, "a", 4),
        keyed_words(KEYRING, Canary.of(2, 0, 1), "a", 4),
        keyed_words(KEYRING, Canary.of(1, 0, 2), "a", 4),
        keyed_words(KEYRING, canary, "b", 4),
    ]
    assert len(set(drawn)) == 5
    assert keyed_words(KEYRING, canary, "a", 4) == drawn[0]
    assert set().union(*drawn) <= set(WORDS)


def test_words_cover_the_alphabet():
    """Draws are spread over the whole alphabet: 46,000 draws leave no word out."""
    seen = {word for serial in range(2_000) for word in keyed_words(KEYRING, Canary.of(1, 0, serial), "a", 23)}
    assert seen == set(WORDS)


@pytest.mark.parametrize("count", [-1, 24])
def test_one_digest_gives_at_most_23_words(count: int):
    """More words than one digest holds are refused rather than repeated."""
    with pytest.raises(ValueError, match="at most 23 words"):
        keyed_words(KEYRING, Canary.of(1, 0, 1), "a", count)


def test_an_unknown_epoch_is_a_keyring_error():
    """A canary whose key is not on the keyring has no words."""
    with pytest.raises(KeyringError):
        keyed_words(KEYRING, Canary.of(1, 9, 1), "a", 4)
