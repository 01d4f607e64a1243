"""Keys of the evidence vault, by id: new text is sealed with the one in force, older text opens with older ones."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from prober.domain.errors import KeyringError

KEY_BYTES = 32

_KIND = "isolation-prober vault keyring"
_VERSION = 1
_NOT_A_KEYRING = "this is no vault keyring of a version known here; make one with `prober vault key new`"
_ID_DIGITS = 16


def key_id_of(key: bytes) -> str:
    """Public id of a key, 16 hex digits of a hash: two different keys never answer to one id."""
    return hashlib.sha256(b"isolation-prober/vault-key-id/v1/" + key).hexdigest()[:_ID_DIGITS]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VaultKeyring:
    """AES-256 keys by id, and which one is in force."""

    current: str
    keys: Mapping[str, bytes]
    """32 bytes each, in the order in which they came into force."""

    def __post_init__(self) -> None:
        """Reject keys of another length, ids that are not their keys', and a current id without a key."""
        is_sound = all(len(key) == KEY_BYTES and key_id_of(key) == key_id for key_id, key in self.keys.items())
        if not is_sound or self.current not in self.keys:
            raise KeyringError(f"a vault keyring holds keys of {KEY_BYTES} bytes under their own ids, one in force")

    def __repr__(self) -> str:
        """Name the ids only."""
        return f"VaultKeyring(current={self.current}, ids={tuple(self.keys)})"

    @classmethod
    def create(cls, key: bytes) -> "VaultKeyring":
        """First keyring, from 32 random bytes of the caller's.

        Raises:
            KeyringError: the key has another length.
        """
        return cls(current=key_id_of(key), keys={key_id_of(key): key})

    def rotate(self, key: bytes) -> "VaultKeyring":
        """Keyring with a new key in force; text under the older ones can still be opened.

        Raises:
            KeyringError: the key has another length.
        """
        return VaultKeyring(current=key_id_of(key), keys={**self.keys, key_id_of(key): key})

    def without(self, key_id: str) -> "VaultKeyring":
        """Keyring without an older key: what is still sealed with it, backups included, can never be opened again.

        Raises:
            KeyringError: no such key, or it is the one in force.
        """
        if key_id not in self.keys:
            raise KeyringError("no key of this id on the vault keyring")
        if key_id == self.current:
            raise KeyringError("this key is in force; put a new one in force before it is dropped")
        return VaultKeyring(current=self.current, keys={held: self.keys[held] for held in self.keys if held != key_id})

    def to_json(self) -> str:
        """File content, keys included; one line, so that an environment variable can carry it."""
        content = {
            "kind": _KIND,
            "version": _VERSION,
            "current": self.current,
            "keys": {key_id: key.hex() for key_id, key in self.keys.items()},
        }
        return json.dumps(content) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "VaultKeyring":
        """Read what `to_json` wrote.

        Raises:
            KeyringError: it is something else. The message never quotes it.
        """
        try:
            content = _expected_content(json.loads(text))
            keys = {str(key_id): bytes.fromhex(key) for key_id, key in content["keys"].items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            # `from None`: the cause would carry keys into a traceback.
            raise KeyringError(_NOT_A_KEYRING) from None
        return cls(current=content["current"], keys=keys)


def _expected_content(content: Any) -> dict[str, Any]:  # noqa: ANN401 - parsed JSON
    """Content of a keyring file; ValueError for any other kind or version."""
    if not isinstance(content, dict) or (content.get("kind"), content.get("version")) != (_KIND, _VERSION):
        raise ValueError
    if not isinstance(content.get("current"), str):
        raise ValueError  # noqa: TRY004 - one kind of fault for all that is no keyring
    return content
