"""The canary keyring on disk."""

import secrets
from pathlib import Path

from prober.config.key_files import create_key_file, read_key_file, replace_key_file
from prober.domain.errors import KeyringError
from prober.prompt.keyring import SECRET_BYTES, Keyring


def load_keyring(path: Path) -> Keyring:
    """Read a keyring.

    Raises:
        KeyringError: the file is missing, unreadable or no keyring. The message never quotes it.
    """
    text = read_key_file(path)
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
    create_key_file(path, keyring.to_json())
    return keyring


def rotate_keyring(path: Path) -> Keyring:
    """Put a fresh secret in force; older ones stay on the keyring. The file is replaced whole or not at all.

    Raises:
        KeyringError: the file cannot be read or replaced.
    """
    keyring = load_keyring(path).rotate(secrets.token_bytes(SECRET_BYTES))
    replace_key_file(path, keyring.to_json())
    return keyring
