"""Code of the word stream."""

import pytest

from prober.domain.canary import Canary
from prober.domain.errors import KeyringError
from prober.prompt.keyring import Keyring
from prober.prompt.stream_code import block_symbols, canary_of, identity_number, mixing_table, tag_numbers

KEYRING = Keyring.create(bytes(32))
CANARY = Canary.of(1234, 0, 0x0ABCDEF)


def test_symbols_of_a_block():
    """A block carries tenant, probe in three symbols, low bits first, and four symbols of tag."""
    symbols = block_symbols(KEYRING, CANARY)
    assert symbols[0] == 1234
    assert symbols[1] | symbols[2] << 11 | symbols[3] << 22 == CANARY.probe_number
    assert len(symbols) == 8
    assert all(0 <= symbol < 2048 for symbol in symbols)


def test_identity_number_round_trip():
    """Tenant and probe survive packing."""
    for canary in (CANARY, Canary(0, 0), Canary(2047, 2**33 - 1)):
        assert canary_of(identity_number(canary)) == canary


def test_tags_depend_on_identity_and_secret():
    """Another tenant, probe or key gives another 44-bit tag."""
    other = Keyring.create(bytes([1]) * 32)
    identities = [identity_number(c) for c in (CANARY, Canary.of(1235, 0, 0x0ABCDEF), Canary.of(1234, 0, 0x0ABCDEE))]
    tags = {*tag_numbers(KEYRING, identities), *tag_numbers(other, identities)}
    assert len(tags) == 6
    assert all(0 <= tag < 2**44 for tag in tags)


def test_unknown_epoch_is_refused():
    """No tag is made up for an epoch that the keyring does not hold."""
    with pytest.raises(KeyringError):
        block_symbols(KEYRING, Canary.of(1, 3, 1))


def test_mixing_table_is_the_lineages_own():
    """The table stays through rotations, differs between lineages, and cannot be written to."""
    table = mixing_table(KEYRING)
    assert table.shape == (2048,)
    assert int(table.max()) < 2048
    assert (table == mixing_table(KEYRING.rotate(bytes([7]) * 32))).all()
    assert (table != mixing_table(Keyring.create(bytes([7]) * 32))).any()
    assert not table.flags.writeable
