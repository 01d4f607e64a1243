"""Sealing excerpts."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.domain.errors import VaultError
from prober.domain.excerpt import Channel
from prober.domain.vault_keyring import VaultKeyring
from prober.store.vault_cipher import Place, Sealed, VaultCipher

KEYRING = VaultKeyring.create(bytes(range(32)))
CIPHER = VaultCipher(KEYRING)
PLACE = Place(finding_id=7, run_id="run-1", ordinal=0, channel=Channel.CONTENT, start=3, characters=5)
TEXT = "Mustermann, IBAN DE89"
SEALED = CIPHER.seal(TEXT, PLACE)


@given(st.text(st.characters(codec=None), max_size=200))
def test_any_text_comes_back(text: str):
    """Lone surrogates included: a hostile answer must not lose its evidence."""
    assert CIPHER.open(CIPHER.seal(text, PLACE), PLACE) == text


def test_each_text_has_a_nonce_of_its_own():
    """Under one nonce two AES-GCM texts would give each other away: equal texts look nothing alike."""
    sealed = [CIPHER.seal(TEXT, PLACE) for _ in range(100)]

    assert len({each.nonce for each in sealed}) == 100
    assert len({each.ciphertext for each in sealed}) == 100
    assert {len(each.nonce) for each in sealed} == {12}


def test_nothing_of_the_text_stands_in_what_is_stored():
    """The tag's 16 bytes are all that is added."""
    assert len(SEALED.ciphertext) == len(TEXT) + 16
    assert TEXT[:4].encode() not in SEALED.ciphertext + SEALED.nonce


@pytest.mark.parametrize(
    "change",
    [
        {"finding_id": 8},
        {"run_id": "run-2"},
        {"ordinal": 1},
        {"channel": Channel.OTHER},
        {"start": 4},
        {"characters": 6},
    ],
)
def test_a_row_that_is_moved_or_relabelled_does_not_open(change: dict):
    """Whoever can write to the database cannot put one finding's text under another."""
    with pytest.raises(VaultError, match="not what was stored"):
        CIPHER.open(SEALED, dataclasses.replace(PLACE, **change))


@pytest.mark.parametrize(
    "changed",
    [
        dataclasses.replace(SEALED, ciphertext=SEALED.ciphertext[:-1] + bytes([SEALED.ciphertext[-1] ^ 1])),
        dataclasses.replace(SEALED, ciphertext=bytes([SEALED.ciphertext[0] ^ 1]) + SEALED.ciphertext[1:]),
        dataclasses.replace(SEALED, nonce=bytes(12)),
        dataclasses.replace(SEALED, nonce=b""),
        dataclasses.replace(SEALED, ciphertext=b""),
    ],
)
def test_a_changed_bit_does_not_open(changed: Sealed):
    """What opens is what was stored, to the bit."""
    with pytest.raises(VaultError, match="not what was stored"):
        CIPHER.open(changed, PLACE)


def test_the_key_s_id_is_bound_too():
    """A text cannot be passed off as sealed with another key of the ring."""
    both = KEYRING.rotate(bytes(32))
    other = dataclasses.replace(SEALED, key_id=both.current)

    assert VaultCipher(both).open(SEALED, PLACE) == TEXT
    with pytest.raises(VaultError, match="not what was stored"):
        VaultCipher(both).open(other, PLACE)


def test_a_key_that_is_not_on_the_ring_is_named_by_its_id():
    """The message says which key to look for."""
    other = VaultCipher(VaultKeyring.create(bytes(32)))

    with pytest.raises(VaultError, match=f"key {KEYRING.current}, which is not on the vault keyring"):
        other.open(SEALED, PLACE)
