"""Settings -> the evidence vault."""

from prober.domain.excerpt import ExcerptBounds
from prober.domain.vault_keyring import VaultKeyring
from prober.store.database import Database
from prober.wiring.campaigns import read_settings, redactor_for
from prober.wiring.system import SystemClock
from prober.wiring.vault import vault_of
from tests.support.command import CREDENTIALS, Workplace


def test_key_and_bounds_are_the_configurations(place: Workplace):
    """What is configured is what seals; no log can show the key, in any spelling."""
    place.configure("http://127.0.0.1:9/v1")
    keyring = VaultKeyring.create(bytes(range(200, 232)))
    key = place.folder / "vault.key"
    key.write_text(keyring.to_json())
    text = place.config.read_text()
    place.config.write_text(text[:-1] + ', "vault": {"key_file": "vault.key", "finding_characters": 99}}')
    settings = read_settings(place.config, CREDENTIALS).settings
    vault = vault_of(settings, Database(settings.database.reveal()), SystemClock())

    assert vault.bounds == ExcerptBounds(finding=99)
    assert keyring.current in repr(vault)
    assert bytes(range(200, 232)).hex() not in redactor_for(settings).redact(f"key {bytes(range(200, 232)).hex()}")
