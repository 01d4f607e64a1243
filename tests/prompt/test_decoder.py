"""Decoding of canary text by key alone."""

import os
import pathlib
import random
import sysconfig

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.canary import Canary
from prober.domain.target import TextForm
from prober.prompt.alphabet import WORDS
from prober.prompt.decoder import decode, scan
from prober.prompt.keyring import Keyring
from prober.prompt.line_code import codes
from prober.prompt.live import LiveIndex
from prober.prompt.numbered_lines import grouped
from prober.prompt.stream_code import mixing_table
from prober.prompt.stream_symbols import symbols_of
from tests.support.canary_text import KEYRING, MANGLINGS, NOISE_KINDS, filler, noisy, prompt_of

CANARY = Canary.of(1999, 0, 0x0ABCDEF)
SECTION = filler(CANARY, [125])
LINES = filler(CANARY, [300], form=TextForm.NUMBERED_LINES)


def canaries(text: str, keyring: Keyring = KEYRING) -> set[Canary]:
    return {window.canary for window in scan(text, keyring)}


@settings(max_examples=300, derandomize=True)
@given(st.integers(0, len(SECTION) - 58))
def test_any_58_characters_name_their_probe(start: int):
    """Cut anywhere within a section, 58 characters suffice."""
    assert canaries(SECTION[start : start + 58]) == {CANARY}


def test_fewer_characters_do_not_always_suffice():
    """57 characters are one too few for some cuts: the guarantee is tight."""
    assert any(canaries(SECTION[i : i + 57]) == set() for i in range(20))


@settings(max_examples=40, derandomize=True)
@given(st.integers(0, 2047), st.integers(0, 2**28 - 1), st.integers(0, 100))
def test_any_identity_round_trips(tenant: int, serial: int, start: int):
    """Every tenant and serial is regained from either form."""
    canary = Canary.of(tenant, 0, serial)
    assert canaries(filler(canary, [3])[start : start + 58]) == {canary}
    line = filler(canary, [start + 1], form=TextForm.NUMBERED_LINES).splitlines()[start]
    assert canaries(line) == {canary}


@pytest.mark.parametrize("mangling", MANGLINGS)
def test_mangled_text_decodes(mangling: str):
    """Eleven clean words are enough under every way in which text gets dressed up."""
    words = SECTION.split()
    for start in range(0, 400, 7):
        assert canaries(MANGLINGS[mangling](words[start : start + 11])) == {CANARY}


def test_both_ends_cut_mid_word():
    """Of thirteen words with both ends torn eleven are whole."""
    words = SECTION.split()
    for start in range(0, 400, 7):
        assert canaries(" ".join(words[start : start + 13])[2:-2]) == {CANARY}


def test_stretches_are_joined_and_placed():
    """Neighbouring windows make one stretch that tells its length and its place in the donor."""
    (window,) = scan(SECTION, KEYRING)
    assert (window.form, window.canary, window.count) == (TextForm.WORD_STREAM, CANARY, 2000 - 10)
    assert (window.first_block, window.last_block) == (0, 221)
    assert window.text == SECTION.replace(" ", "").replace("\n", "")
    later = scan(filler(CANARY, [40, 40]), KEYRING)
    assert [w.count for w in later] == [630, 630]
    assert later[1].first_block == 71


def test_two_canaries_side_by_side():
    """Text of two probes in one answer names both, in order, and not a third."""
    other = Canary.of(3, 0, 17)
    text = SECTION[:500] + filler(other, [10])[:500]
    assert [window.canary for window in scan(text, KEYRING)] == [CANARY, other]


@pytest.mark.parametrize("mangling", ["plain", "upper", "spaces", "glued", "JSON", "zero-width", "bare"])
def test_mangled_lines_decode(mangling: str):
    """A line's code is read in all the forms in which it may come back."""
    code = next(c for c in codes(KEYRING, CANARY) if sum(x.isdigit() for x in c) > 2)
    text = {
        "plain": "000007. [ref " + "-".join(grouped(code)) + "] able base",
        "upper": "[REF " + "-".join(grouped(code)) + "] ABLE BASE",
        "spaces": " ".join(grouped(code)).lower(),
        "glued": f"000007.[ref{code}]ablebase",
        "JSON": '{"ref": ["' + '", "'.join(grouped(code)) + '"]}',
        "zero-width": "[ref " + "\u200b".join("-".join(grouped(code))) + "]",
        "bare": code,
    }[mangling]
    (window,) = scan(text, KEYRING)
    assert (window.canary, window.form, window.text) == (CANARY, TextForm.NUMBERED_LINES, code)


def test_lines_count_each_code():
    """Every line of an echoed page is a window of its own, with its line counter."""
    windows = scan(LINES, KEYRING)
    assert [(w.first_block, w.last_block) for w in windows] == [(i % 240, i % 240) for i in range(300)]
    assert decode(LINES, KEYRING).code_candidates == 300


def test_a_rotated_key_decodes_old_and_new():
    """After a rotation old text is still named, and so is new text; a keyring from before names old text only."""
    rotated = KEYRING.rotate(bytes([5]) * 32)
    new = Canary.of(1999, 1, 0x0ABCDEF)
    for form in TextForm:
        text = filler(new, [4], keyring=rotated, form=form)
        assert canaries(text, rotated) == {new}
        assert canaries(text) == set()
        assert canaries(filler(CANARY, [4], form=form), rotated) == {CANARY}


def test_a_foreign_key_decodes_nothing():
    """Text of another lineage says nothing."""
    foreign = Keyring.create(bytes([77]) * 32)
    assert scan(SECTION + LINES, foreign) == ()


@settings(max_examples=200, derandomize=True)
@given(st.text(max_size=300))
def test_any_text_is_data(text: str):
    """No text whatever makes the decoder fail or find something."""
    assert scan(text, KEYRING) == ()


def test_salad_of_alphabet_words_names_nobody():
    """A hundred thousand random alphabet words are examined and none is attributed."""
    rng = random.Random(5)
    decoding = decode(" ".join(rng.choices(WORDS, k=100_000)), KEYRING)
    assert decoding.windows == ()
    assert decoding.stream_candidates > 99_000


def test_windows_hide_their_text():
    """What is shown of a window is numbers only."""
    assert scan(SECTION, KEYRING)[0].text[:44] not in repr(scan(SECTION, KEYRING))


_TABLE = {
    0.02: (0.85, 0.99, 1.0, 1.0),
    0.05: (0.67, 0.95, 0.99, 1.0),
    0.10: (0.42, 0.77, 0.96, 1.0),
    0.20: (0.17, 0.37, 0.61, 0.86),
}
"""Measured detection at 15, 30, 50, 100 words by noise per word, for the worst kind of noise."""
_LIVE_TABLE = {0.05: (0.93, 1.0, 1.0), 0.10: (0.83, 0.99, 1.0), 0.20: (0.52, 0.86, 0.97)}
_TRIALS = 50


def detection(length: int, rate: float, live: LiveIndex | None) -> tuple[float, set[Canary]]:
    """Share of noisy copies that are recognised, over all kinds of noise, and everything that was attributed."""
    rng = random.Random(length * 1000 + int(rate * 100))
    words, hits, named = SECTION.split(), 0, set()
    for kind in NOISE_KINDS:
        for _ in range(_TRIALS):
            start = rng.randrange(len(words) - length)
            decoding = decode(" ".join(noisy(words[start : start + length], rate, kind, rng)), KEYRING)
            found = {window.canary for window in decoding.windows}
            if live is not None:
                found |= {match.canary for match in live.match(decoding.symbols, decoding.symbols.windows(5))}
            hits += CANARY in found
            named |= found
    return hits / (_TRIALS * len(NOISE_KINDS)), named


@pytest.mark.no_coverage
@pytest.mark.parametrize("rate", _TABLE)
def test_copy_errors_are_tolerated(rate: float):
    """Noisy copies are recognised as often as measured before (3 sigma of 200 trials), and never misattributed."""
    for length, expected in zip((15, 30, 50, 100), _TABLE[rate], strict=True):
        share, named = detection(length, rate, None)
        tolerance = 3 * (max(expected * (1 - expected), 0.01) / 200) ** 0.5
        assert share >= expected - tolerance
        assert named <= {CANARY}


@pytest.mark.no_coverage
@pytest.mark.parametrize("rate", _LIVE_TABLE)
def test_copy_errors_are_tolerated_better_by_live_probes(rate: float):
    """Shorter windows against live probes recognise more of a noisy copy, and never misattribute it."""
    live = LiveIndex(KEYRING)
    for serial in range(200):
        live.remember(prompt_of(Canary.of(1999, 0, serial), 1), TextForm.WORD_STREAM)
    live.remember(prompt_of(CANARY, 1), TextForm.WORD_STREAM)
    for length, expected in zip((15, 30, 50), _LIVE_TABLE[rate], strict=True):
        share, named = detection(length, rate, live)
        tolerance = 3 * (max(expected * (1 - expected), 0.01) / 200) ** 0.5
        assert share >= expected - tolerance
        assert named <= {CANARY}


_TEXT_SUFFIXES = (".py", ".txt", ".md", ".rst", ".json", ".html")
_WANTED_BYTES = 100_000_000
_BATCH_BYTES = 4_000_000


def natural_files() -> list[pathlib.Path]:
    """Text files of the interpreter and its packages first, then any other file of theirs."""
    paths = sysconfig.get_paths()
    files = [
        pathlib.Path(folder) / name
        for root in dict.fromkeys((paths["stdlib"], paths["purelib"], paths["platlib"]))
        for folder, _, names in os.walk(root)
        for name in names
    ]
    return sorted(dict.fromkeys(files), key=lambda path: (path.suffix not in _TEXT_SUFFIXES, str(path)))


def natural_batches() -> list[str]:
    """At least 100 MB of distinct content, in pieces of some megabytes."""
    batches, batch, size, held, seen = [], [], 0, 0, set()
    for path in natural_files():
        if size >= _WANTED_BYTES:
            break
        # The alphabet and our own tests are canary text, not natural text.
        if path.suffix == ".pyc" or "prober" in path.parts or not path.is_file() or path.is_symlink():
            continue
        content = path.read_bytes()
        if hash(content) in seen:
            continue
        seen.add(hash(content))
        batch.append(content.decode("latin-1"))
        size += len(content)
        held += len(content)
        if held > _BATCH_BYTES:
            batches.append("\n".join(batch))
            batch, held = [], 0
    batches.append("\n".join(batch))
    assert size >= _WANTED_BYTES
    return batches


@pytest.mark.no_coverage
@pytest.mark.slow
def test_natural_text_names_nobody():
    """A hundred megabytes of program and prose hold no window of either form and fit no live probe."""
    live = LiveIndex(KEYRING)
    rng = random.Random(3)
    for serial in range(2000):
        live.remember(prompt_of(Canary.of(rng.randrange(2048), 0, serial * 131), 1), TextForm.WORD_STREAM)
    scanned = candidates = 0
    for text in natural_batches():
        decoding = decode(text, KEYRING)
        assert decoding.windows == ()
        assert list(live.match(decoding.symbols, decoding.symbols.windows(5))) == []
        scanned += len(text)
        candidates += len(decoding.symbols.windows(5)) + decoding.code_candidates
    assert scanned >= _WANTED_BYTES
    assert candidates > 0


def test_symbols_are_those_of_the_table():
    """The decoder reads with the lineage's mixing table."""
    symbols = symbols_of(SECTION.replace(" ", "").replace("\n", "").encode("ascii"), mixing_table(KEYRING))
    assert np.count_nonzero(symbols.data[:1998] == CANARY.tenant_number) >= 222
