"""Secrets in files of their own."""

from pathlib import Path

import pytest

from prober.config.secret_files import MAX_SECRET_BYTES, SecretFileError, is_exposed, read_secret

SECRET = "sk-live-9f8E7d6C5b4A"


@pytest.mark.parametrize(
    ("mode", "exposed"), [(0o600, False), (0o640, False), (0o660, False), (0o604, True), (0o644, True)]
)
def test_exposure_is_what_others_may_read(tmp_path: Path, mode: int, *, exposed: bool):
    """A group's permission is how secret stores mount files; everyone's is a mistake."""
    path = tmp_path / "secret"
    path.write_text(f"{SECRET}\n")
    path.chmod(mode)
    found = read_secret(path)
    assert found.secret.reveal() == SECRET
    assert (found.is_exposed, is_exposed(path)) == (exposed, exposed)
    assert SECRET not in repr(found)


@pytest.mark.parametrize("content", [b"", b"\r\n", b"\xff", b"x" * (MAX_SECRET_BYTES + 1)])
def test_unusable_files_are_refused_without_path_or_content(tmp_path: Path, content: bytes):
    """The path stays out of the message as well: it may be a credential in the wrong place."""
    path = tmp_path / SECRET
    path.write_bytes(content)
    with pytest.raises(SecretFileError) as caught:
        read_secret(path)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize("name", ["absent", "a\0b", "x" * 5000])
def test_files_that_are_not_there_are_not_exposed(tmp_path: Path, name: str):
    """Missing and impossible paths are problems of reading, not of permission."""
    assert not is_exposed(tmp_path / name)
    with pytest.raises(SecretFileError, match="cannot be read"):
        read_secret(tmp_path / name)
