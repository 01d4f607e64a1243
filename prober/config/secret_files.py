"""Secrets that stand in files of their own, as a secret store mounts them."""

import dataclasses
import os
import stat
from pathlib import Path

from prober.config.secret import Secret
from prober.domain.errors import ConfigError

MAX_SECRET_BYTES = 64 * 1024

EXPOSED = "every user of this machine can read this file; take its permission from others"


class SecretFileError(ConfigError):
    """The file holds no usable secret. The message names no path: it may be a misplaced credential."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SecretFile:
    """What was read."""

    secret: Secret
    is_exposed: bool
    """Others than owner and group may read the file."""


def read_secret(path: Path) -> SecretFile:
    """Read one secret; line ends after it are dropped.

    Raises:
        SecretFileError: the file is missing, unreadable, too large, no UTF-8 text, or empty.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SECRET_BYTES + 1)
            exposed = bool(os.fstat(file.fileno()).st_mode & stat.S_IROTH)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "no usable path"
        raise SecretFileError(f"the file cannot be read: {reason}") from None
    if len(content) > MAX_SECRET_BYTES:
        raise SecretFileError(f"the file is larger than {MAX_SECRET_BYTES} bytes")
    try:
        secret = content.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise SecretFileError("the file is no UTF-8 text") from None
    if not secret:
        raise SecretFileError("the file is empty")
    return SecretFile(secret=Secret(secret), is_exposed=exposed)


def is_exposed(path: Path) -> bool:
    """Tell whether others than owner and group may read a file; one that cannot be looked at is not exposed."""
    try:
        return bool(path.stat().st_mode & stat.S_IROTH)
    except (OSError, ValueError):
        return False
