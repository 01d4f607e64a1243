import unicodedata

import pytest

from prober.lab.batch.noise import SCRIPTS, Noise
from prober.lab.tokenizer import Tokenizer

TOKENIZER = Tokenizer()
WORDS = TOKENIZER.encode(" ".join(f"word{number}" for number in range(400))).tolist()


def corrupted(level: float, seed: int = 1) -> list[int]:
    noise = Noise(level, seed, TOKENIZER)
    return [noise.corrupt(number) for number in WORDS]


def test_without_noise_nothing_changes():
    """A level of 0 leaves every token as it was sampled."""
    assert corrupted(0.0) == WORDS


def test_noise_is_letters_of_many_scripts_half_characters_and_loops():
    """Full noise shows what is known of corrupted decoding: three scripts and more, U+FFFD, repetition."""
    text = TOKENIZER.decode(corrupted(1.0))
    assert sum(any(letter in text for letter in script) for script in SCRIPTS) >= 3
    assert "\N{REPLACEMENT CHARACTER}" in text
    pieces = text.split()
    assert any(len(set(pieces[place : place + 5])) == 1 for place in range(len(pieces) - 5))


def test_without_loops_every_token_is_replaced():
    """Logits that are no numbers at all hold nothing of what was said: no token stays, none is repeated for long."""
    noise = Noise(1.0, 1, TOKENIZER, has_loops=False)
    said = [noise.corrupt(number) for number in WORDS]
    assert not set(said) & set(WORDS)
    assert not any(len(set(said[place : place + 9])) == 1 for place in range(len(said) - 9))


def test_each_script_is_one_script():
    """The stray letters are letters, three of each of seven scripts, none of them Latin."""
    names = [{unicodedata.name(letter).split(" ")[0] for letter in script} for script in SCRIPTS]
    assert all(len(name) == 1 for name in names)
    assert len(set.union(*names)) == len(SCRIPTS) == 7
    assert "LATIN" not in set.union(*names)


@pytest.mark.parametrize("level", [0.05, 0.3])
def test_noise_strikes_at_its_level(level: float):
    """About as many tokens as asked for begin a corruption; loops make for some more changed ones."""
    changed = sum(mine != own for mine, own in zip(corrupted(level), WORDS, strict=True))
    assert 0.4 * level < changed / len(WORDS) < 4 * level


def test_noise_is_seeded():
    """The same seed gives the same noise, another one another."""
    assert corrupted(0.5, 1) == corrupted(0.5, 1) != corrupted(0.5, 2)


def test_noise_says_nothing_that_anyone_wrote():
    """A corrupted token is a stray letter or the own token again, never a word of the vocabulary."""
    TOKENIZER.encode("somebody elses secret words")
    stray = set(corrupted(1.0)) - set(WORDS)
    allowed = {*"".join(SCRIPTS), "\N{REPLACEMENT CHARACTER}"}
    assert {TOKENIZER.decode([number]).strip() for number in stray} <= allowed
