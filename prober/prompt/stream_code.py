"""Code of the word stream: nine symbols of 11 bits per block, and the keyed table that chains words.

Data symbols of a block: [tenant | probe 0, 1, 2 (low bits first) | tag 0..3 | position]. The tag is the first 44 bits
of HMAC-SHA256 over tenant and probe under the secret of the probe's epoch. Word i is
c[i] = c[i-2] + F[c[i-1]] + d[i mod 9] (mod 2048), so a reader regains d from any three words in a row.
"""

import functools
import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from prober.domain.canary import PROBE_BITS, SERIAL_BITS, TENANT_BITS, Canary
from prober.prompt.alphabet import SYMBOL_BITS, SYMBOLS
from prober.prompt.keyring import Keyring

IDENTITY_SYMBOLS: Final = 4
TAG_SYMBOLS: Final = 4
TAG_BITS: Final = TAG_SYMBOLS * SYMBOL_BITS
POSITION: Final = IDENTITY_SYMBOLS + TAG_SYMBOLS
"""Where the position counter stands within a block."""
PERIOD: Final = POSITION + 1
SYNC_WORDS: Final = 2
"""Words that a reader needs before the first symbol."""
MASK: Final = SYMBOLS - 1

_EPOCH_SHIFT = TENANT_BITS + SERIAL_BITS


def mixing_table(keyring: Keyring) -> npt.NDArray[np.uint16]:
    """Keyed table F, shape (2048,), the same under all epochs of a lineage; read-only.

    One table, not one per epoch: the table only spreads symbols while forgery is kept out by the tag, and decoding
    then costs the same however often the key was rotated.
    """
    return _expanded_table(keyring.lineage_key("mixing table"))


@functools.lru_cache(maxsize=16)
def _expanded_table(key: bytes) -> npt.NDArray[np.uint16]:
    table = np.frombuffer(hashlib.shake_256(key).digest(2 * SYMBOLS), "<u2").astype(np.uint16) & np.uint16(MASK)
    table.flags.writeable = False
    return table


def identity_number(canary: Canary) -> int:
    """Tenant and probe as one 44-bit number: the four identity symbols, first one lowest."""
    return canary.tenant_number | canary.probe_number << TENANT_BITS


def canary_of(identity: int) -> Canary:
    """Inverse of `identity_number`."""
    return Canary(identity & (1 << TENANT_BITS) - 1, identity >> TENANT_BITS & (1 << PROBE_BITS) - 1)


def tag_numbers(keyring: Keyring, identities: Sequence[int]) -> list[int]:
    """44-bit tag of each identity number, first tag symbol lowest.

    Raises:
        KeyringError: An epoch is not on the keyring.
    """
    keys = {epoch: _tag_key(keyring, epoch) for epoch in {identity >> _EPOCH_SHIFT for identity in identities}}
    return [_tag(keys[identity >> _EPOCH_SHIFT], identity) for identity in identities]


@functools.lru_cache(maxsize=256)
def _tag_key(keyring: Keyring, epoch: int) -> bytes:
    return keyring.epoch_key(epoch, "stream tag")


@functools.lru_cache(maxsize=1 << 14)
def _tag(key: bytes, identity: int) -> int:
    digest = hmac.digest(key, identity.to_bytes(6, "big"), hashlib.sha256)
    return int.from_bytes(digest[:6], "big") >> 48 - TAG_BITS


def block_symbols(keyring: Keyring, canary: Canary) -> tuple[int, ...]:
    """Symbols of every block of a canary, position left out: four of identity, four of tag.

    Raises:
        KeyringError: The canary's epoch is not on the keyring.
    """
    identity = identity_number(canary)
    packed = identity | tag_numbers(keyring, [identity])[0] << IDENTITY_SYMBOLS * SYMBOL_BITS
    return tuple(packed >> SYMBOL_BITS * i & MASK for i in range(POSITION))
