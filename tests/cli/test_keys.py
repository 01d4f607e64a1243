"""Making and rotating the canary key."""

from pathlib import Path

from prober.cli.exits import Exit
from tests.support.command import invoke


def test_keys_are_made_once_and_rotated(tmp_path: Path):
    """A key is never overwritten; rotating puts the next epoch in force."""
    file = str(tmp_path / "canary.key")
    made, again, rotated = invoke("key", "new", file), invoke("key", "new", file), invoke("key", "rotate", file)

    assert (made.code, again.code, rotated.code) == (0, Exit.USAGE, 0)
    assert "epoch 0" in made.stdout
    assert "epoch 1" in rotated.stdout
    assert oct(Path(file).stat().st_mode & 0o777) == "0o600"
    assert invoke("key", "rotate", str(tmp_path / "none.key")).code == Exit.USAGE
