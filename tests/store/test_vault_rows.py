"""Excerpts as rows."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.domain.errors import VaultError
from prober.domain.excerpt import Channel, Excerpt
from prober.store.rows import Row
from prober.store.vault_cipher import VaultCipher
from prober.store.vault_rows import excerpt_row, opened
from tests.support.evidence import NOON
from tests.support.vault import FIRST

CIPHER = VaultCipher(FIRST)


class Stored:
    """A row as a database gives it back."""

    def __init__(self, row: Row) -> None:
        self.__dict__.update(row)


def row_of(text: str, cipher: VaultCipher | None) -> Stored:
    return Stored(excerpt_row(7, "run-1", 2, Excerpt(channel=Channel.OTHER, start=9, text=text), NOON, cipher))


@given(st.text(st.characters(codec=None), min_size=1, max_size=50))
def test_with_a_key_the_text_comes_back_and_no_hash_is_there(text: str):
    """A plain hash would confirm a short text to whoever guesses it."""
    stored = opened(row_of(text, CIPHER), CIPHER)

    assert (stored.text, stored.sha256, stored.place.characters) == (text, None, len(text))


@given(st.text(st.characters(codec=None), min_size=1, max_size=50))
def test_without_a_key_hash_and_length_are_all(text: str):
    """What was never stored cannot be taken."""
    row = row_of(text, None)
    stored = opened(row, CIPHER)

    assert (row.key_id, row.nonce, row.ciphertext, stored.text) == (None, None, None, None)
    assert stored.sha256 == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    assert stored.place.characters == len(text)


def test_an_opened_text_does_not_show_itself():
    """`repr` goes into logs and tracebacks."""
    assert "Mustermann" not in repr(opened(row_of("Mustermann", CIPHER), CIPHER))


def test_a_sealed_row_needs_a_key():
    """It says which."""
    with pytest.raises(VaultError, match=FIRST.current):
        opened(row_of("x", CIPHER), None)


@pytest.mark.parametrize(
    "lost", [("key_id",), ("key_id", "nonce"), ("key_id", "ciphertext"), ("key_id", "nonce", "ciphertext")]
)
@pytest.mark.parametrize("cipher", [CIPHER, None])
def test_a_sealed_row_without_its_key_s_id_does_not_read_as_a_hash_alone(
    lost: tuple[str, ...], cipher: VaultCipher | None
):
    """Text that was kept and taken away is an error, never "only its hash was kept"."""
    row = row_of("x", CIPHER)
    vars(row).update(dict.fromkeys(lost))

    with pytest.raises(VaultError, match="not what was stored"):
        opened(row, cipher)


def test_a_hash_put_beside_a_ciphertext_does_not_hide_it():
    """A forged hash makes no sealed row one without text."""
    row = row_of("x", CIPHER)
    vars(row).update(key_id=None, sha256="0" * 64)

    with pytest.raises(VaultError, match="not what was stored"):
        opened(row, CIPHER)
