"""Key files on disk: readable by their owner alone, never overwritten by accident, never half-written."""

import contextlib
import os
import secrets
from pathlib import Path

from prober.domain.errors import KeyringError

MAX_KEY_FILE_BYTES = 64 * 1024

_OWNER_ONLY = 0o600


def read_key_file(path: Path) -> str:
    """Read a key file.

    Raises:
        KeyringError: it is missing, unreadable, too large or no text. The message never quotes it.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_KEY_FILE_BYTES + 1)
        text = content.decode()
    except OSError as error:
        raise KeyringError(f"the key file {path} cannot be read: {_reason(error)}") from None
    except UnicodeDecodeError:
        raise KeyringError(f"the key file {path} is no keyring: it is no UTF-8 text") from None
    if len(content) > MAX_KEY_FILE_BYTES:
        raise KeyringError(f"the key file {path} is no keyring: it is larger than {MAX_KEY_FILE_BYTES} bytes")
    return text


def create_key_file(path: Path, text: str) -> None:
    """Write a new key file with mode 0600.

    Raises:
        KeyringError: something stands there already, since losing a key means losing all that was made under it; or
            the file cannot be written.
    """
    try:
        _write_new(path, text)
        _settle(path)
    except FileExistsError:
        raise KeyringError(f"the key file {path} exists already and was left as it is") from None
    except OSError as error:
        raise KeyringError(f"the key file {path} cannot be written: {_reason(error)}") from None


def replace_key_file(path: Path, text: str) -> None:
    """Replace a key file whole, or not at all; its owner stays who it was.

    Raises:
        KeyringError: it cannot be replaced.
    """
    # Secret stores mount files as links; replacing the link would leave the store's own file behind.
    place = path.resolve()
    draft = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
    try:
        _write_new(draft, text)
        _hand_over(draft, place)
        draft.replace(place)
        _settle(place)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise KeyringError(f"the key file {path} cannot be replaced: {_reason(error)}") from None


def _write_new(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _OWNER_ONLY)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            # The umask may have taken bits away; an owner who cannot read the key has none.
            os.fchmod(file.fileno(), _OWNER_ONLY)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink()
        raise


def _hand_over(draft: Path, place: Path) -> None:
    """Give a draft the owner of the file that it replaces: root rotates keys which a service must read."""
    owner = place.stat()
    if owner.st_uid != draft.stat().st_uid:
        os.chown(draft, owner.st_uid, owner.st_gid)


def _settle(path: Path) -> None:
    """Make the directory entry survive a power failure."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
