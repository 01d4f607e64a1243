"""Keys of cached pages: a key names a page's contents, all that stands before it, and whose prompt it was."""

import hashlib
from collections.abc import Sequence

_KEY_BYTES = 16
OPENING_TOKENS = 64
"""Of a prompt's beginning, where something shorter than the whole has to tell prompts apart."""


def namespace(tenant: str, salt: str) -> bytes:
    """Key of the empty prefix, which all keys of one tenant and salt chain from.

    The parts are told apart by their lengths: joined as they are, "ab" + "c" would be "a" + "bc" (vLLM issue #30931,
    SGLang #24638).
    """
    parts = [text.encode("utf-8", "surrogateescape") for text in (tenant, salt)]
    return _digest(b"".join(len(part).to_bytes(8, "little") + part for part in parts))


def chained(root: bytes, pages: Sequence[bytes]) -> list[bytes]:
    """The root, then one key per page of ids: equal only where all contents up to there are.

    128 bits, as the block hashes of vLLM chain SHA-256 since CVE-2025-25183: by chance, no two differ and collide.
    """
    keys = [root]
    for page in pages:
        keys.append(_digest(keys[-1] + page))
    return keys


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_KEY_BYTES).digest()
