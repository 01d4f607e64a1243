"""The canary keyring on disk: readable by its owner alone, never overwritten by accident, never half-written."""

import contextlib
import os
import secrets
from pathlib import Path

from prober.domain.errors import KeyringError
from prober.prompt.keyring import SECRET_BYTES, Keyring

MAX_KEYRING_BYTES = 64 * 1024

_OWNER_ONLY = 0o600


def load_keyring(path: Path) -> Keyring:
    """Read a keyring.

    Raises:
        KeyringError: the file is missing, unreadable or no keyring. The message never quotes it.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_KEYRING_BYTES + 1)
        text = content.decode()
    except OSError as error:
        raise KeyringError(f"the key file {path} cannot be read: {_reason(error)}") from None
    except UnicodeDecodeError:
        raise KeyringError(f"the key file {path} is no keyring: it is no UTF-8 text") from None
    if len(content) > MAX_KEYRING_BYTES:
        raise KeyringError(f"the key file {path} is no keyring: it is larger than {MAX_KEYRING_BYTES} bytes")
    try:
        return Keyring.from_json(text)
    except KeyringError as error:
        raise KeyringError(f"the key file {path} cannot be used: {error}") from None


def create_keyring(path: Path) -> Keyring:
    """Draw a fresh keyring and write it with mode 0600.

    Raises:
        KeyringError: something stands there already (losing a key means losing all canaries sent under it), or the
            file cannot be written.
    """
    keyring = Keyring.create(secrets.token_bytes(SECRET_BYTES))
    try:
        _write_new(path, keyring.to_json())
        _settle(path)
    except FileExistsError:
        raise KeyringError(f"the key file {path} exists already and was left as it is") from None
    except OSError as error:
        raise KeyringError(f"the key file {path} cannot be written: {_reason(error)}") from None
    return keyring


def rotate_keyring(path: Path) -> Keyring:
    """Put a fresh secret in force; older ones stay on the keyring. The file is replaced whole or not at all.

    Raises:
        KeyringError: the file cannot be read or replaced.
    """
    keyring = load_keyring(path).rotate(secrets.token_bytes(SECRET_BYTES))
    # Secret stores mount files as links; replacing the link would leave the store's own file behind.
    place = path.resolve()
    draft = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
    try:
        _write_new(draft, keyring.to_json())
        draft.replace(place)
        _settle(place)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise KeyringError(f"the key file {path} cannot be replaced: {_reason(error)}") from None
    return keyring


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


def _settle(path: Path) -> None:
    """Make the directory entry survive a power failure."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
