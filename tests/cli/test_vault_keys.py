"""Making, rotating and dropping the vault key."""

from pathlib import Path

from prober.cli.exits import Exit
from prober.config.vault_keyring_file import load_vault_keyring
from tests.support.command import invoke


def test_keys_are_made_once_rotated_and_dropped(tmp_path: Path):
    """A key is never overwritten; rotating keeps the older one until it is dropped by its id; none is shown."""
    file = tmp_path / "vault.key"
    made, again = invoke("vault", "key", "new", str(file)), invoke("vault", "key", "new", str(file))
    first = load_vault_keyring(file)
    rotated = invoke("vault", "key", "rotate", str(file))
    both = load_vault_keyring(file)
    in_force = invoke("vault", "key", "drop", str(file), both.current)
    dropped = invoke("vault", "key", "drop", str(file), first.current)

    assert (made.code, again.code, rotated.code, dropped.code) == (0, Exit.USAGE, 0, 0)
    assert in_force.code == Exit.USAGE
    assert first.current in made.stdout
    assert "2 on the ring; next: prober vault rotate" in rotated.stdout
    assert list(load_vault_keyring(file).keys) == [both.current]
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    said = "".join(end.stdout + end.stderr for end in (made, again, rotated, in_force, dropped))
    assert not any(key.hex() in said for key in both.keys.values())
    assert invoke("vault", "key", "rotate", str(tmp_path / "none.key")).code == Exit.USAGE
