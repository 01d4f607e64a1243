"""Whose the windows of a word stream are, against a plain reading of the code's definition."""

import random

import pytest

from prober.domain.canary import Canary
from prober.prompt.alphabet import SYMBOLS, WORDS
from prober.prompt.keyring import Keyring
from prober.prompt.stream_code import PERIOD, block_symbols, identity_number, mixing_table
from prober.prompt.stream_scan import StreamScan
from prober.prompt.stream_symbols import Symbols, symbols_of
from tests.support.canary_text import KEYRING, filler

ROTATED = KEYRING.rotate(bytes(range(32, 64)))


def expected(symbols: Symbols, starts: list[int], canaries: list[Canary], keyring: Keyring) -> list[tuple[int, int]]:
    """Identity and position of each window, (-1, -1) for none: compares with what each canary would have written."""
    blocks = {canary: block_symbols(keyring, canary) for canary in canaries}
    found = []
    for start in starts:
        window = symbols.data[start : start + PERIOD].tolist()
        owner = (-1, -1)
        for canary, block in blocks.items():
            for rotation in range(PERIOD):
                turned = window[rotation:] + window[:rotation]
                if tuple(turned[:-1]) == block:
                    owner = (identity_number(canary), turned[-1])
        found.append(owner)
    return found


def assert_as_defined(text: str, canaries: list[Canary], keyring: Keyring, least: int) -> None:
    """At least so many windows have an owner, and every window has the right one."""
    symbols = symbols_of("".join(text.lower().split()).encode("ascii"), mixing_table(keyring))
    starts = symbols.windows(PERIOD)
    scanned = StreamScan(symbols, starts, keyring)
    owners = expected(symbols, starts.tolist(), canaries, keyring)
    assert sum(owner != (-1, -1) for owner in owners) >= least
    assert list(zip(scanned.identities.tolist(), scanned.blocks.tolist(), strict=True)) == owners


# Small numbers make symbols alike, and tenants below 64 pass for epoch 0 in a wrong rotation.
@pytest.mark.parametrize("canary", [Canary.of(1, 0, 1), Canary.of(0, 0, 0), Canary.of(1999, 0, 0x0ABCDEF)])
@pytest.mark.parametrize("lines", [1, 40, 300])
def test_every_window_of_a_stream_is_recognised(canary: Canary, lines: int):
    """No window of a long stretch is missed, in any rotation, nor given another position."""
    assert_as_defined(filler(canary, [lines]), [canary], KEYRING, least=16 * lines - 11)


@pytest.mark.no_coverage
def test_canaries_mixed_into_salad_are_told_apart():
    """Long and single windows of many canaries, of two epochs, among random words of the alphabet."""
    rng = random.Random(7)
    canaries = [Canary.of(rng.randrange(SYMBOLS), epoch, rng.randrange(1 << 28)) for epoch in (0, 1) for _ in range(8)]
    pieces: list[str] = []
    for number, canary in enumerate(canaries):
        stretch = filler(canary, [60], keyring=ROTATED).split()
        words = 11 if number % 2 else 700
        start = rng.randrange(len(stretch) - words)
        pieces += rng.choices(WORDS, k=500) + stretch[start : start + words]
    assert_as_defined(" ".join(pieces), canaries, ROTATED, least=8 * 690 + 8)


def test_an_epoch_that_is_not_on_the_keyring_is_nobodys():
    """Text under a key that the reader lacks stays unattributed."""
    text = filler(Canary.of(5, 1, 99), [60], keyring=ROTATED)
    assert_as_defined(text, [], KEYRING, least=0)


def test_a_scrap_before_much_salad_is_recognised():
    """Words that share the canary's epoch symbol by chance do not become its windows."""
    canary = Canary.of(700, 0, 0x1234567)
    words = filler(canary, [1]).split()[:12] + random.Random(5).choices(WORDS, k=6000)
    assert_as_defined(" ".join(words), [canary], KEYRING, least=2)


@pytest.mark.parametrize("words", [500, 6000])
def test_salad_is_nobodys(words: int):
    """Random words of the alphabet, few or many, have no owner."""
    assert_as_defined(" ".join(random.Random(3).choices(WORDS, k=words)), [], KEYRING, least=0)


def test_no_windows_at_all():
    """Text without a single alphabet word has no windows and no owners."""
    assert_as_defined("xyzzy", [], KEYRING, least=0)
