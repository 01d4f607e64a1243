"""The word stream."""

import tracemalloc

import pytest

from prober.domain.canary import Canary
from prober.domain.errors import KeyringError
from prober.prompt.alphabet import WORDS
from prober.prompt.keyring import Keyring
from prober.prompt.stream_code import block_symbols, mixing_table
from prober.prompt.word_stream import sections
from tests.support.canary_text import KEYRING

CANARY = Canary.of(7, 0, 987654)


def test_lines_are_16_words_and_a_newline():
    """Every section has the asked number of lines of 16 alphabet words."""
    filler = sections(KEYRING, CANARY, [3, 0, 1])
    assert [part.count(b"\n") for part in filler] == [3, 0, 1]
    for line in b"".join(filler).decode("ascii").splitlines():
        assert len(line.split(" ")) == 16
        assert set(line.split(" ")) <= set(WORDS)


@pytest.mark.parametrize("lines", [[], [0], [0, 0]])
def test_no_lines_no_text(lines: list[int]):
    """Nothing asked, nothing made, one item per section all the same."""
    assert sections(KEYRING, CANARY, lines) == [b""] * len(lines)


def test_negative_lines_are_refused():
    """A count below zero is a fault of the caller."""
    with pytest.raises(ValueError, match="negative"):
        sections(KEYRING, CANARY, [1, -1])


def test_unknown_epoch_is_refused():
    """Text is never made under a key that is not held."""
    with pytest.raises(KeyringError):
        sections(KEYRING, Canary.of(7, 1, 1), [1])


def test_text_is_deterministic_and_distinct():
    """The same canary gives the same text; another canary, section or key another."""
    text = sections(KEYRING, CANARY, [5, 5])
    assert text == sections(KEYRING, CANARY, [5, 5])
    assert text[0] != text[1]
    assert text[0] != sections(KEYRING, Canary.of(8, 0, 987654), [5])[0]
    assert text[0] != sections(Keyring.create(bytes(32)), CANARY, [5])[0]


def test_recurrence_and_running_position():
    """Words follow the stated recurrence; phase and position counter run on over sections of unequal length."""
    table, data = mixing_table(KEYRING).tolist(), block_symbols(KEYRING, CANARY)
    counter = 0
    for part in sections(KEYRING, CANARY, [1, 4, 300, 2]):
        words = [WORDS.index(word) for word in part.decode("ascii").split()]
        for i in range(2, len(words)):
            symbol = (words[i] - words[i - 2] - table[words[i - 1]]) % 2048
            block, phase = divmod(counter + i, 9)
            assert symbol == (block % 2048 if phase == 8 else data[phase])
        counter += len(words)


def test_position_counter_wraps():
    """Beyond 2,048 blocks the position counter starts anew."""
    table = mixing_table(KEYRING).tolist()
    words = [WORDS.index(word) for word in b"".join(sections(KEYRING, CANARY, [1200])).decode("ascii").split()]
    last = 9 * (len(words) // 9) - 1
    assert (words[last] - words[last - 2] - table[words[last - 1]]) % 2048 == last // 9 % 2048
    assert last // 9 > 2048


def test_memory_of_a_million_words():
    """A million words need less than four times their text at the peak."""
    tracemalloc.start()
    try:
        filler = sections(KEYRING, CANARY, [125] * 500)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    size = sum(map(len, filler))
    assert size == 5_000_000
    assert peak < 4 * size


@pytest.mark.parametrize("count", [1, 8, 9, 40])
def test_shared_text_has_other_words_throughout(count: int):
    """A canary's shared stream meets its own one at no word of any section, whichever way it is computed."""
    own, shared = (sections(KEYRING, CANARY, [20] * count, is_shared=is_shared) for is_shared in (False, True))
    table, data = mixing_table(KEYRING).tolist(), block_symbols(KEYRING, CANARY)
    for number, (mine, theirs) in enumerate(zip(own, shared, strict=True)):
        first, second = ([WORDS.index(word) for word in part.decode("ascii").split()] for part in (mine, theirs))
        assert not any(first[i : i + 2] == second[i : i + 2] for i in range(319))
        for i in range(2, 320):
            block, phase = divmod(320 * number + i, 9)
            symbol = (second[i] - second[i - 2] - table[second[i - 1]]) % 2048
            assert symbol == (block % 2048 if phase == 8 else data[phase])
