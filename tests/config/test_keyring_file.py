"""The canary key file."""

import os
import stat
from pathlib import Path

import pytest

from prober.config.key_files import MAX_KEY_FILE_BYTES
from prober.config.keyring_file import create_keyring, load_keyring, rotate_keyring
from prober.domain.errors import KeyringError


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", [0o000, 0o077, 0o777])
def test_new_key_is_its_owners_alone(tmp_path: Path, mask: int):
    """Whatever the umask says, the file has mode 0600 and loads again."""
    path = tmp_path / "canary.key"
    before = os.umask(mask)
    try:
        keyring = create_keyring(path)
    finally:
        os.umask(before)
    assert mode(path) == 0o600
    assert load_keyring(path) == keyring


def test_two_new_keys_differ(tmp_path: Path):
    """Keys are drawn, not derived."""
    assert create_keyring(tmp_path / "one").fingerprint() != create_keyring(tmp_path / "two").fingerprint()


@pytest.mark.parametrize("kind", ["file", "link", "dangling"])
def test_existing_file_is_never_overwritten(tmp_path: Path, kind: str):
    """A key that is lost takes all its canaries with it; links are not followed either."""
    path, other = tmp_path / "canary.key", tmp_path / "other"
    if kind == "file":
        path.write_text("precious")
    else:
        if kind == "link":
            other.write_text("precious")
        path.symlink_to(other)
    with pytest.raises(KeyringError, match="exists already and was left as it is"):
        create_keyring(path)
    assert kind == "dangling" or path.read_text() == "precious"
    assert kind != "dangling" or not other.exists()


def test_key_that_cannot_be_written_says_why(tmp_path: Path):
    """The message names file and reason."""
    with pytest.raises(KeyringError, match="cannot be written: No such file or directory"):
        create_keyring(tmp_path / "absent" / "canary.key")


def test_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Half a key is worse than none: the next attempt must not find it."""
    full = OSError(28, "No space left on device")

    def refuse(_descriptor: int) -> None:
        raise full

    monkeypatch.setattr(os, "fsync", refuse)
    path = tmp_path / "canary.key"
    with pytest.raises(KeyringError, match="cannot be written: No space left on device"):
        create_keyring(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"\xff\xfe\xfd", "is no UTF-8 text"),
        (b"x" * (MAX_KEY_FILE_BYTES + 1), "is larger than"),
        (b"c0ffee-secret", "prober key new"),
        (b"", "prober key new"),
    ],
)
def test_files_that_are_no_keyring_are_refused_unquoted(tmp_path: Path, content: bytes | None, message: str):
    """The error says what is wrong and never what stands in the file."""
    path = tmp_path / "canary.key"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(KeyringError, match=message) as caught:
        load_keyring(path)
    assert "c0ffee" not in str(caught.value)


def test_directory_is_no_keyring(tmp_path: Path):
    """The system's reason is enough."""
    with pytest.raises(KeyringError, match="Is a directory"):
        load_keyring(tmp_path)


def test_rotation_keeps_old_epochs_and_replaces_the_file_whole(tmp_path: Path):
    """After a rotation the file holds both secrets, with mode 0600 and no draft beside it."""
    path = tmp_path / "canary.key"
    old = create_keyring(path)
    new = rotate_keyring(path)
    assert load_keyring(path) == new
    assert (new.current_epoch, new.epochs()) == (old.current_epoch + 1, (0, 1))
    assert new.secret(0) == old.secret(0)
    assert mode(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_rotation_writes_through_links(tmp_path: Path):
    """A mounted secret is a link; its target is what is rotated."""
    real, link = tmp_path / "real.key", tmp_path / "canary.key"
    create_keyring(real)
    link.symlink_to(real)
    rotate_keyring(link)
    assert link.is_symlink()
    assert load_keyring(real).current_epoch == 1


def test_failed_rotation_leaves_the_old_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """When the new file cannot be put in place, the old one stays in force and no draft remains."""
    path = tmp_path / "canary.key"
    old = create_keyring(path)
    failure = OSError(5, "Input/output error")

    def refuse(_self: Path, _target: Path) -> Path:
        raise failure

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(KeyringError, match="cannot be replaced: Input/output error"):
        rotate_keyring(path)
    assert load_keyring(path) == old
    assert list(tmp_path.iterdir()) == [path]
