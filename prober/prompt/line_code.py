"""Code of numbered lines: 80 bits, written as four groups of four Crockford base32 characters.

Plain, from the low end: tenant 11 | probe 33 | line counter 8 | tag 28. The tag is the first 28 bits of HMAC-SHA256
over tenant and probe under the secret of the probe's epoch. A four-round Feistel permutation of the 80 bits (40-bit
halves, HMAC-SHA256 rounds: Luby & Rackoff 1988) under the lineage's key makes each of a probe's 256 codes look
random, so that a single group of four characters already points at its donor.
"""

import functools
import hashlib
import hmac
from typing import Final

from prober.domain.canary import PROBE_BITS, TENANT_BITS, Canary
from prober.prompt.keyring import Keyring
from prober.prompt.stream_code import canary_of, identity_number

GROUP_CHARACTERS: Final = 4
GROUPS: Final = 4
CODE_CHARACTERS: Final = GROUP_CHARACTERS * GROUPS
CHARACTER_BITS: Final = 5
TAG_BITS: Final = 28
LINE_COUNTERS: Final = 256
"""The line counter has 8 bits: a probe's codes repeat after so many lines."""

_BASE32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_VALUES = {character: value for value, character in enumerate(_BASE32)}
_IDENTITY_BITS = TENANT_BITS + PROBE_BITS
_TAG_SHIFT = _IDENTITY_BITS + 8
_HALF_BITS = 40
_HALF_MASK = (1 << _HALF_BITS) - 1
_ROUNDS = 4


@functools.lru_cache(maxsize=256)
def codes(keyring: Keyring, canary: Canary, count: int = LINE_COUNTERS) -> tuple[str, ...]:
    """First codes of a probe by line counter, at most 256, 16 characters each, no separators.

    Raises:
        KeyringError: The canary's epoch is not on the keyring.
    """
    keys = _round_keys(keyring.lineage_key("line whitening"))
    plain = identity_number(canary) | _tag(keyring, canary) << _TAG_SHIFT
    return tuple(_written(_permuted(plain | counter << _IDENTITY_BITS, keys)) for counter in range(count))


@functools.lru_cache(maxsize=1 << 12)
def decode(keyring: Keyring, code: str) -> tuple[Canary, int] | None:
    """Canary and line counter of 16 base32 characters, folded; None when the tag does not fit.

    A random code passes with probability at most 2**-28.
    """
    value = 0
    for character in code:
        if character not in _VALUES:
            return None
        value = value << CHARACTER_BITS | _VALUES[character]
    plain = _unpermuted(value, _round_keys(keyring.lineage_key("line whitening")))
    canary = canary_of(plain & (1 << _IDENTITY_BITS) - 1)
    if canary.epoch not in keyring.epochs() or _tag(keyring, canary) != plain >> _TAG_SHIFT:
        return None
    return canary, plain >> _IDENTITY_BITS & LINE_COUNTERS - 1


def folded(characters: bytes) -> str:
    """Crockford's reading of ASCII: upper case, I and L as 1, O as 0. U stands for nothing and stays."""
    return characters.translate(_FOLDS).decode("ascii")


_FOLDS = bytes(range(256)).upper().translate(bytes.maketrans(b"ILO", b"110"))


def _tag(keyring: Keyring, canary: Canary) -> int:
    key = keyring.epoch_key(canary.epoch, "line tag")
    digest = hmac.digest(key, identity_number(canary).to_bytes(6, "big"), hashlib.sha256)
    return int.from_bytes(digest[:4], "big") >> 32 - TAG_BITS


def _written(value: int) -> str:
    return "".join(_BASE32[value >> CHARACTER_BITS * i & 31] for i in reversed(range(CODE_CHARACTERS)))


@functools.lru_cache(maxsize=16)
def _round_keys(key: bytes) -> tuple[bytes, ...]:
    return tuple(hmac.digest(key, bytes([number]), hashlib.sha256) for number in range(_ROUNDS))


def _round(key: bytes, half: int) -> int:
    return int.from_bytes(hmac.digest(key, half.to_bytes(5, "big"), hashlib.sha256)[:5], "big")


def _permuted(value: int, keys: tuple[bytes, ...]) -> int:
    left, right = value >> _HALF_BITS, value & _HALF_MASK
    for key in keys:
        left, right = right, left ^ _round(key, right)
    return left << _HALF_BITS | right


def _unpermuted(value: int, keys: tuple[bytes, ...]) -> int:
    left, right = value >> _HALF_BITS, value & _HALF_MASK
    for key in reversed(keys):
        left, right = right ^ _round(key, left), left
    return left << _HALF_BITS | right
