"""Excerpts -> rows of the vault, and back."""

import dataclasses
import datetime as dt
import hashlib
from typing import Any

import sqlalchemy as sa

from prober.domain.errors import VaultError
from prober.domain.excerpt import Excerpt
from prober.store.rows import Row
from prober.store.vault_cipher import Place, Sealed, VaultCipher


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredExcerpt:
    """One excerpt as the vault knows it."""

    place: Place
    kept_at: dt.datetime
    sha256: str | None
    """Of the text (UTF-8, lone surrogates passed through), hex; only where it was kept without a key."""
    text: str | None = dataclasses.field(repr=False)
    """None where only hash and length were kept."""


def excerpt_row(
    finding_id: int, run_id: str, ordinal: int, excerpt: Excerpt, now: dt.datetime, cipher: VaultCipher | None
) -> Row:
    """Build the row of an excerpt, with its hash only where there is no key.

    A plain hash beside a ciphertext would confirm a short text to whoever guesses it.
    """
    place = Place(
        finding_id=finding_id,
        run_id=run_id,
        ordinal=ordinal,
        channel=excerpt.channel,
        start=excerpt.start,
        characters=len(excerpt.text),
    )
    row = {**dataclasses.asdict(place), "kept_at": now, "sha256": None, **_EMPTY}
    if cipher is None:
        digest = hashlib.sha256(excerpt.text.encode("utf-8", "surrogatepass")).hexdigest()
        return {**row, "sha256": digest}
    return {**row, **sealed_row(cipher.seal(excerpt.text, place))}


_EMPTY: Row = {"key_id": None, "nonce": None, "ciphertext": None}


def sealed_row(sealed: Sealed) -> Row:
    """Build the columns of a sealed text."""
    return {"key_id": sealed.key_id, "nonce": sealed.nonce, "ciphertext": sealed.ciphertext}


def place_of(row: sa.Row[Any]) -> Place:
    """Where a row says that it belongs."""
    return Place(
        finding_id=row.finding_id,
        run_id=row.run_id,
        ordinal=row.ordinal,
        channel=row.channel,
        start=row.start,
        characters=row.characters,
    )


def sealed_of(row: sa.Row[Any]) -> Sealed:
    """The sealed text of a row that has one."""
    return Sealed(key_id=row.key_id, nonce=bytes(row.nonce or b""), ciphertext=bytes(row.ciphertext or b""))


def opened(row: sa.Row[Any], cipher: VaultCipher | None) -> StoredExcerpt:
    """Open a row.

    Raises:
        VaultError: it is sealed, and there is no key, or it does not open; or it is neither sealed nor a hash alone.
    """
    place, text = place_of(row), None
    if row.key_id is None:
        # A sealed row that lost its key's id must not read as one whose text was never kept.
        if row.sha256 is None or row.nonce is not None or row.ciphertext is not None:
            raise VaultError(f"an excerpt of finding {place.finding_id} is not what was stored: its row was changed")
    else:
        if cipher is None:
            raise VaultError(f"the text is sealed with key {row.key_id}, and the configuration names no vault key")
        text = cipher.open(sealed_of(row), place)
    return StoredExcerpt(place=place, kept_at=row.kept_at, sha256=row.sha256, text=text)
