"""The vault keyring on disk."""

from pathlib import Path

import pytest

from prober.config.vault_keyring_file import (
    create_vault_keyring,
    drop_vault_key,
    load_vault_keyring,
    rotate_vault_keyring,
)
from prober.domain.errors import KeyringError
from prober.domain.vault_keyring import VaultKeyring


def test_each_step_is_in_the_file(tmp_path: Path):
    """What is returned is what the next process reads; keys are drawn afresh."""
    path = tmp_path / "vault.key"
    made = create_vault_keyring(path)
    assert load_vault_keyring(path) == made
    rotated = rotate_vault_keyring(path)
    assert load_vault_keyring(path) == rotated
    assert list(rotated.keys) == [made.current, rotated.current]
    dropped = drop_vault_key(path, made.current)

    assert load_vault_keyring(path) == dropped
    assert list(dropped.keys) == [rotated.current]
    assert create_vault_keyring(tmp_path / "other.key").keys.keys().isdisjoint(rotated.keys)


def test_a_key_that_cannot_be_dropped_leaves_the_file(tmp_path: Path):
    """The one in force, or none of the ring's."""
    path = tmp_path / "vault.key"
    made = create_vault_keyring(path)
    for key_id in (made.current, "f00d"):
        with pytest.raises(KeyringError):
            drop_vault_key(path, key_id)

    assert load_vault_keyring(path) == made


def test_another_file_is_refused_by_name(tmp_path: Path):
    """The canary key is no vault key; the message says which file, and none of its content."""
    path = tmp_path / "canary.key"
    path.write_text(VaultKeyring.create(bytes(32)).to_json().replace("vault keyring", "keyring"))

    with pytest.raises(KeyringError, match=r"canary\.key cannot be used: this is no vault keyring") as caught:
        load_vault_keyring(path)
    assert "00" * 8 not in str(caught.value)
