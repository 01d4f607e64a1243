"""The 80-bit line code."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.canary import Canary
from prober.domain.errors import KeyringError
from prober.prompt.keyring import Keyring
from prober.prompt.line_code import codes, decode, folded

KEYRING = Keyring.create(bytes(range(32)))
CANARY = Canary.of(77, 0, 123456)


@settings(max_examples=40, derandomize=True)
@given(st.integers(0, 2047), st.integers(0, 2**28 - 1), st.integers(0, 255))
def test_round_trip(tenant: int, serial: int, line: int):
    """Any canary and line counter survive being written and read."""
    canary = Canary.of(tenant, 0, serial)
    assert decode(KEYRING, codes(KEYRING, canary)[line]) == (canary, line)


def test_codes_look_random():
    """A probe's 256 codes share no group in the same place, and no character place is constant."""
    made = codes(KEYRING, CANARY)
    assert len(set(made)) == 256
    assert all(len(code) == 16 and code.isalnum() for code in made)
    for place in range(16):
        assert len({code[place] for code in made}) > 24
    for group in range(0, 16, 4):
        assert len({code[group : group + 4] for code in made}) >= 254


@pytest.mark.parametrize("place", range(16))
def test_one_wrong_character_spoils_the_code(place: int):
    """No single copy error is taken for another canary."""
    code = codes(KEYRING, CANARY)[3]
    for character in "0123456789ABCDEFGHJKMNPQRSTVWXYZ".replace(code[place], ""):
        assert decode(KEYRING, code[:place] + character + code[place + 1 :]) is None


def test_characters_outside_base32_are_no_code():
    """U stands for nothing."""
    assert decode(KEYRING, "U" * 16) is None


def test_folding_reads_lookalikes():
    """Lower case is upper case, I and L are 1, O is 0."""
    assert folded(b"iLo0-abu") == "1100-ABU"


def test_other_keys_do_not_decode():
    """Another lineage reads nothing, and a keyring without the epoch neither; a rotated one does."""
    code = codes(KEYRING, CANARY)[0]
    rotated = KEYRING.rotate(bytes([9]) * 32)
    assert decode(Keyring.create(bytes(32)), code) is None
    assert decode(rotated, code) == (CANARY, 0)
    late = codes(rotated, Canary.of(77, 1, 5))[9]
    assert decode(rotated, late) == (Canary.of(77, 1, 5), 9)
    assert decode(KEYRING, late) is None


def test_unknown_epoch_is_refused():
    """Codes are never made under a key that is not held."""
    with pytest.raises(KeyringError):
        codes(KEYRING, Canary.of(1, 2, 3))
