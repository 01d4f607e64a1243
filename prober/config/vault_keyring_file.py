"""The vault keyring on disk."""

import secrets
from pathlib import Path

from prober.config.key_files import create_key_file, read_key_file, replace_key_file
from prober.domain.errors import KeyringError
from prober.domain.vault_keyring import KEY_BYTES, VaultKeyring


def load_vault_keyring(path: Path) -> VaultKeyring:
    """Read a vault keyring.

    Raises:
        KeyringError: the file is missing, unreadable or no vault keyring. The message never quotes it.
    """
    text = read_key_file(path)
    try:
        return VaultKeyring.from_json(text)
    except KeyringError as error:
        raise KeyringError(f"the key file {path} cannot be used: {error}") from None


def create_vault_keyring(path: Path) -> VaultKeyring:
    """Draw a fresh keyring and write it with mode 0600.

    Raises:
        KeyringError: something stands there already, or the file cannot be written.
    """
    keyring = VaultKeyring.create(secrets.token_bytes(KEY_BYTES))
    create_key_file(path, keyring.to_json())
    return keyring


def rotate_vault_keyring(path: Path) -> VaultKeyring:
    """Put a fresh key in force; older ones stay on the keyring.

    Raises:
        KeyringError: the file cannot be read or replaced.
    """
    keyring = load_vault_keyring(path).rotate(secrets.token_bytes(KEY_BYTES))
    replace_key_file(path, keyring.to_json())
    return keyring


def drop_vault_key(path: Path, key_id: str) -> VaultKeyring:
    """Take an older key off the keyring, for good.

    Raises:
        KeyringError: the file cannot be read or replaced; or the ring has no such key, or it is the one in force.
    """
    keyring = load_vault_keyring(path).without(key_id)
    replace_key_file(path, keyring.to_json())
    return keyring
