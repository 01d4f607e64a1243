"""Numbered lines."""

import re

import numpy as np
import pytest

from prober.domain.canary import Canary
from prober.domain.errors import KeyringError
from prober.prompt.alphabet import WORDS
from prober.prompt.keyring import Keyring
from prober.prompt.line_code import codes
from prober.prompt.numbered_lines import (
    OWN_CODES,
    SHARED_CODES,
    SLICES,
    grouped,
    sections,
    slice_number,
    slice_of_words,
)
from tests.support.canary_text import KEYRING

CANARY = Canary.of(7, 0, 987654)
LINE = re.compile(r"(\d{6})\. \[ref ([0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4})\] ((?:[a-z]{4} ){11}[a-z]{4})\n")


def test_shape_of_lines():
    """Each line is number, code and twelve words; numbers run on over sections, codes follow the line counter."""
    filler = sections(KEYRING, CANARY, [130, 0, 140])
    assert [part.count(b"\n") for part in filler] == [130, 0, 140]
    expected = codes(KEYRING, CANARY)
    for index, line in enumerate(b"".join(filler).decode("ascii").splitlines(keepends=True)):
        found = LINE.fullmatch(line)
        assert found
        assert int(found[1]) == index + 1
        assert found[2] == "-".join(grouped(expected[index % 240]))


def test_lines_have_one_length():
    """Digits never grow, so every line has the same number of characters."""
    lengths = {len(line) for part in sections(KEYRING, CANARY, [1200]) for line in part.splitlines()}
    assert lengths == {93}


def test_words_come_from_the_tenants_slice():
    """A tenant's lines use all 128 words of its slice and no other."""
    slices = slice_of_words(KEYRING)
    used = set(re.findall(r"\b[a-z]{4}\b", b"".join(sections(KEYRING, CANARY, [400])).decode("ascii")))
    assert used == {word for word, number in zip(WORDS, slices, strict=True) if number == slice_number(7)}


def test_slices_partition_the_alphabet():
    """Sixteen slices of 128 words, shuffled by key; neighbouring tenants never share one."""
    assert np.bincount(slice_of_words(KEYRING), minlength=SLICES).tolist() == [128] * 16
    assert (slice_of_words(KEYRING) != slice_of_words(Keyring.create(bytes(32)))).any()
    assert len({slice_number(tenant) for tenant in range(100, 116)}) == 16


def test_text_is_deterministic_and_distinct():
    """The same canary gives the same text; another probe of the same tenant other words and codes."""
    assert sections(KEYRING, CANARY, [9]) == sections(KEYRING, CANARY, [9])
    mine, other = (sections(KEYRING, c, [9])[0].splitlines() for c in (CANARY, Canary.of(7, 0, 987655)))
    assert not {line[13:] for line in mine} & {line[13:] for line in other}


def test_faults_of_the_caller_are_refused():
    """Negative counts and unknown epochs are errors."""
    with pytest.raises(ValueError, match="negative"):
        sections(KEYRING, CANARY, [-1])
    with pytest.raises(KeyringError):
        sections(KEYRING, Canary.of(7, 1, 1), [1])


@pytest.mark.parametrize("lines", [1, 16, 17, 300])
def test_shared_lines_have_codes_and_words_of_their_own(lines: int):
    """Shared lines use the last 16 codes, which stand in no other line, and words drawn apart."""
    shared = sections(KEYRING, CANARY, [lines], is_shared=True)[0].decode("ascii")
    own = sections(KEYRING, CANARY, [1_000])[0].decode("ascii")
    found, others = ([LINE.fullmatch(line) for line in text.splitlines(keepends=True)] for text in (shared, own))
    expected = codes(KEYRING, CANARY)[OWN_CODES:]
    assert len(expected) == SHARED_CODES
    assert [match[2] for match in found if match] == ["-".join(grouped(expected[i % 16])) for i in range(lines)]
    assert not {match[2] for match in found if match} & {match[2] for match in others if match}
    assert not {match[3] for match in found if match} & {match[3] for match in others if match}
