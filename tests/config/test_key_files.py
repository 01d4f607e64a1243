"""Key files on disk; `test_keyring_file` holds the rest through the canary keyring."""

import os
from pathlib import Path

import pytest

from prober.config.key_files import create_key_file, read_key_file, replace_key_file
from prober.domain.errors import KeyringError


def test_a_file_is_made_once_and_replaced_whole(tmp_path: Path):
    """Mode 0600 from the first byte on; a second creation leaves it alone, a replacement leaves no draft."""
    path = tmp_path / "a.key"
    create_key_file(path, "one\n")
    with pytest.raises(KeyringError, match="exists already and was left as it is"):
        create_key_file(path, "two\n")
    assert read_key_file(path) == "one\n"
    replace_key_file(path, "three\n")

    assert read_key_file(path) == "three\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_replaced_file_stays_its_owner_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Root rotates the key of a service that runs as somebody else: it is handed over before it takes the place."""
    path = tmp_path / "a.key"
    create_key_file(path, "one\n")
    handed: list[tuple[str, int, int, str]] = []
    stat = Path.stat

    def of_somebody_else(self: Path, **options: bool) -> os.stat_result:
        found = list(stat(self, **options))
        if self.name == "a.key":
            found[4:6] = [4711, 4712]
        return os.stat_result(found)

    def chown(draft: Path, user: int, group: int) -> None:
        handed.append((draft.read_text(), user, group, path.read_text()))

    monkeypatch.setattr(Path, "stat", of_somebody_else)
    monkeypatch.setattr(os, "chown", chown)
    replace_key_file(path, "two\n")

    assert handed == [("two\n", 4711, 4712, "one\n")]
    assert path.read_text() == "two\n"


def test_a_file_that_cannot_be_handed_over_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A key that its service cannot read is worse than an old one: refused, and no draft is left."""
    path = tmp_path / "a.key"
    create_key_file(path, "one\n")

    def refuse(*_arguments: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("prober.config.key_files._hand_over", refuse)
    with pytest.raises(KeyringError, match="cannot be replaced: Operation not permitted"):
        replace_key_file(path, "two\n")

    assert read_key_file(path) == "one\n"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_read_is_named_and_not_quoted(tmp_path: Path):
    """Path and reason are all that is said."""
    path = tmp_path / "a.key"
    path.write_bytes(b"\xffsecret")
    with pytest.raises(KeyringError, match="no UTF-8 text") as caught:
        read_key_file(path)
    assert "secret" not in str(caught.value)
    with pytest.raises(KeyringError, match="No such file"):
        read_key_file(tmp_path / "absent")
