"""Seals excerpts with AES-256-GCM (NIST SP 800-38D), each bound to the finding, run and key it belongs to."""

import dataclasses
import json
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from prober.domain.errors import VaultError
from prober.domain.excerpt import Channel
from prober.domain.vault_keyring import VaultKeyring

NONCE_BYTES = 12
"""Random ones of 96 bits may be drawn 2**32 times under one key (SP 800-38D, 8.3): a vault never gets there."""

_PURPOSE = "isolation-prober/vault/v1"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an excerpt belongs. Sealed with it: a row that is put elsewhere, or whose figures change, does not open."""

    finding_id: int
    run_id: str
    ordinal: int
    channel: Channel
    start: int
    characters: int

    def associated_data(self, key_id: str) -> bytes:
        """Canonical bytes of the place and the key's id."""
        fields = (self.finding_id, self.run_id, self.ordinal, self.channel.value, self.start, self.characters)
        return json.dumps([_PURPOSE, key_id, *fields]).encode()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """An encrypted text."""

    key_id: str
    nonce: bytes
    ciphertext: bytes
    """The 16 bytes of the tag are its last."""


class VaultCipher:
    """Seals under the key in force; opens under any key of the ring."""

    def __init__(self, keyring: VaultKeyring) -> None:
        self._keyring = keyring

    @property
    def key_id(self) -> str:
        """Of the key in force."""
        return self._keyring.current

    def seal(self, text: str, place: Place) -> Sealed:
        """Encrypt under a fresh random nonce. Lone surrogates, which a hostile answer may hold, pass through."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        key_id = self.key_id
        plain = text.encode("utf-8", "surrogatepass")
        ciphertext = AESGCM(self._keyring.keys[key_id]).encrypt(nonce, plain, place.associated_data(key_id))
        return Sealed(key_id=key_id, nonce=nonce, ciphertext=ciphertext)

    def open(self, sealed: Sealed, place: Place) -> str:
        """Decrypt.

        Raises:
            VaultError: its key is not on the ring, or it was sealed for another place, or changed since.
        """
        key = self._keyring.keys.get(sealed.key_id)
        if key is None:
            raise VaultError(f"the text is sealed with key {sealed.key_id}, which is not on the vault keyring")
        try:
            plain = AESGCM(key).decrypt(sealed.nonce, sealed.ciphertext, place.associated_data(sealed.key_id))
        except (InvalidTag, ValueError):
            raise VaultError(
                f"an excerpt of finding {place.finding_id} is not what was stored: its row was changed or moved"
            ) from None
        return plain.decode("utf-8", "surrogatepass")
