"""The section `vault`."""

from pathlib import Path

import pytest

from prober.config.dump import dump
from prober.config.loader import LoadedSettings, load_settings
from prober.config.problems import InvalidConfigError
from prober.config.vault import VaultSettings
from prober.domain.excerpt import ExcerptBounds
from prober.domain.vault_keyring import VaultKeyring
from tests.config.test_loader import MINIMAL

KEYRING = VaultKeyring.create(bytes(range(32)))
ENVIRONMENT = {"A_KEY": "one", "B_KEY": "two", "VAULT_KEY": KEYRING.to_json()}


def load_with(folder: Path, *lines: str) -> LoadedSettings:
    path = folder / "prober.yaml"
    path.write_text(MINIMAL + "vault:\n" + "".join(f"  {line}\n" for line in lines))
    return load_settings(path, ENVIRONMENT, known_dialects=["openai-chat"], known_scenarios=["baseline"])


def test_without_a_key_there_is_a_vault_that_seals_nothing():
    """Hashes and lengths are kept by default; text needs a decision of the operator's."""
    settings = VaultSettings()

    assert settings.keyring is None
    assert settings.bounds == ExcerptBounds()


def test_the_keyring_comes_from_the_environment_or_a_file(tmp_path: Path):
    """Both give the same ring; a relative file starts at the configuration's folder."""
    (tmp_path / "vault.key").write_text(KEYRING.to_json())
    (tmp_path / "vault.key").chmod(0o600)
    from_file = load_with(tmp_path, "key_file: vault.key", "excerpt_characters: 50")
    from_environment = load_with(tmp_path, 'key: "${VAULT_KEY}"')

    assert from_file.settings.vault.keyring == from_environment.settings.vault.keyring == KEYRING
    assert from_file.settings.vault.key_file == tmp_path / "vault.key"
    assert from_file.settings.vault.bounds == ExcerptBounds(excerpt=50)
    assert from_file.warnings == from_environment.warnings == ()


def test_a_file_that_others_read_is_warned_about(tmp_path: Path):
    """Whoever reads the key reads what was caught."""
    (tmp_path / "vault.key").write_text(KEYRING.to_json())
    (tmp_path / "vault.key").chmod(0o644)
    [warning] = load_with(tmp_path, "key_file: vault.key").warnings

    assert "vault.key_file: every user of this machine can read this file" in warning


def test_a_key_in_plain_text_is_warned_about_and_shown_by_nothing(tmp_path: Path):
    """It works, and neither warning nor dump nor `repr` holds it."""
    loaded = load_with(tmp_path, f"key: '{KEYRING.to_json().strip()}'")
    [warning] = loaded.warnings
    everything = warning + dump(loaded.settings) + repr(loaded)

    assert "stands here in plain text" in warning
    assert bytes(range(32)).hex() not in everything


def test_two_keyrings_are_one_too_many(tmp_path: Path):
    """Which one would be in force nobody could say."""
    with pytest.raises(InvalidConfigError, match=r"vault\.key_file: stands beside key; keep one of them"):
        load_with(tmp_path, 'key: "${VAULT_KEY}"', "key_file: vault.key")
