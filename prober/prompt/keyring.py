"""Secrets behind canary text: who holds the keyring recognises, with no look-up, every prompt ever sent under it."""

import dataclasses
import hashlib
import hmac
import json
from typing import Any

from prober.domain.canary import EPOCH_BITS
from prober.domain.errors import KeyringError

SECRET_BYTES = 32
EPOCHS = 1 << EPOCH_BITS
"""The epoch stands in the top bits of a probe number, so a keyring holds at most this many secrets."""

_KIND = "isolation-prober keyring"
_VERSION = 1
_LINEAGE = b"isolation-prober/lineage/v1"
_NOT_A_KEYRING = "this is no keyring file of a version known here; make one with `prober key new`"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Keyring:
    """Secrets by epoch, the current epoch, and a lineage secret that outlives rotation.

    Tags are made under an epoch's secret: rotation ends the use of a secret that may be known to others. What only
    spreads symbols (the mixing table, the whitening of line codes, vocabulary slices) hangs on the lineage secret,
    for a reader must undo it before it can see which epoch a text belongs to.
    """

    current_epoch: int
    lineage: bytes
    secrets: tuple[tuple[int, bytes], ...]
    """(epoch, 32 bytes), by epoch."""

    def __post_init__(self) -> None:
        """Reject secrets of another length, unsorted or double epochs, and a current epoch that has no secret."""
        epochs = [epoch for epoch, _ in self.secrets]
        in_order = epochs == sorted(set(epochs)) and all(0 <= epoch < EPOCHS for epoch in epochs)
        lengths = {len(self.lineage), *(len(secret) for _, secret in self.secrets)}
        if not in_order or self.current_epoch not in epochs or lengths != {SECRET_BYTES}:
            raise KeyringError(f"a keyring holds secrets of {SECRET_BYTES} bytes, one per epoch 0..{EPOCHS - 1}")

    def __repr__(self) -> str:
        """Name the epochs only: secrets never reach a log."""
        return f"Keyring(current_epoch={self.current_epoch}, epochs={self.epochs()})"

    def epochs(self) -> tuple[int, ...]:
        """Epochs whose canaries can be decoded, ascending."""
        return tuple(epoch for epoch, _ in self.secrets)

    def secret(self, epoch: int) -> bytes:
        """32 bytes of one epoch.

        Raises:
            KeyringError: No such epoch on this keyring.
        """
        for held, secret in self.secrets:
            if held == epoch:
                return secret
        raise KeyringError(f"no secret of epoch {epoch} on this keyring")

    def epoch_key(self, epoch: int, purpose: str) -> bytes:
        """32-byte key of one epoch for one purpose: HMAC-SHA256(secret, purpose).

        Raises:
            KeyringError: No such epoch on this keyring.
        """
        return _separated(self.secret(epoch), purpose)

    def lineage_key(self, purpose: str) -> bytes:
        """32-byte key for one purpose, the same under all epochs."""
        return _separated(self.lineage, purpose)

    def fingerprint(self) -> str:
        """Public id of the current secret, 12 hex digits; two instances that show the same one share the key."""
        return self.epoch_key(self.current_epoch, "fingerprint").hex()[:12]

    @classmethod
    def create(cls, secret: bytes) -> "Keyring":
        """First keyring of a lineage, from 32 random bytes of the caller's.

        Raises:
            KeyringError: The secret has another length.
        """
        return cls(current_epoch=0, lineage=hmac.digest(secret, _LINEAGE, hashlib.sha256), secrets=((0, secret),))

    def rotate(self, secret: bytes) -> "Keyring":
        """Keyring with `secret` in force as the next epoch; older epochs stay decodable.

        After epoch 31 comes 0 again: the oldest secret is dropped, its canaries are then no longer recognised.

        Raises:
            KeyringError: The secret has another length.
        """
        epoch = (self.current_epoch + 1) % EPOCHS
        kept = {held: old for held, old in self.secrets if held != epoch}
        return Keyring(
            current_epoch=epoch, lineage=self.lineage, secrets=tuple(sorted((kept | {epoch: secret}).items()))
        )

    def to_json(self) -> str:
        """File content, secrets included."""
        content = {
            "kind": _KIND,
            "version": _VERSION,
            "current_epoch": self.current_epoch,
            "lineage": self.lineage.hex(),
            "secrets": {str(epoch): secret.hex() for epoch, secret in self.secrets},
        }
        return json.dumps(content, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Keyring":
        """Read what `to_json` wrote.

        Raises:
            KeyringError: It is something else. The message never quotes it.
        """
        try:
            content = _expected_content(json.loads(text))
            secrets = sorted((int(epoch), bytes.fromhex(secret)) for epoch, secret in content["secrets"].items())
            lineage = bytes.fromhex(content["lineage"])
            current_epoch = content["current_epoch"]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            # `from None`: the cause would carry file content into a traceback.
            raise KeyringError(_NOT_A_KEYRING) from None
        return cls(current_epoch=current_epoch, lineage=lineage, secrets=tuple(secrets))


def _expected_content(content: Any) -> dict[str, Any]:  # noqa: ANN401 - parsed JSON
    """Content of a keyring file; ValueError for any other kind or version."""
    if not isinstance(content, dict) or (content.get("kind"), content.get("version")) != (_KIND, _VERSION):
        raise ValueError
    if type(content.get("current_epoch")) is not int:
        raise ValueError
    return content


def _separated(secret: bytes, purpose: str) -> bytes:
    """Key for one purpose, unrelated to that of any other purpose."""
    return hmac.digest(secret, b"isolation-prober/v1/" + purpose.encode("ascii"), hashlib.sha256)
