"""Alphabet words that follow from a key and a canary: unpredictable without the key, the same for the same canary."""

import hashlib
import hmac

from prober.domain.canary import Canary
from prober.prompt.alphabet import WORDS
from prober.prompt.keyring import Keyring

_SYMBOL_BITS = 11
_MOST_WORDS = hashlib.sha256().digest_size * 8 // _SYMBOL_BITS


def keyed_words(keyring: Keyring, canary: Canary, purpose: str, count: int) -> tuple[str, ...]:
    """Draw up to 23 words: 11 bits each of HMAC-SHA256 under the key of the canary's epoch.

    Raises:
        KeyringError: The canary's epoch is not on the keyring.
        ValueError: More words than one digest gives.
    """
    if not 0 <= count <= _MOST_WORDS:
        raise ValueError(f"one digest gives at most {_MOST_WORDS} words, not {count}")
    label = f"isolation-prober words v1|{purpose}|{canary.tenant_number}|{canary.probe_number}"
    bits = int.from_bytes(hmac.digest(keyring.secret(canary.epoch), label.encode("ascii"), "sha256"), "big")
    return tuple(WORDS[bits >> (_SYMBOL_BITS * i) & (1 << _SYMBOL_BITS) - 1] for i in range(count))
