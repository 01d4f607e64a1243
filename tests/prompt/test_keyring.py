"""Canary keys."""

import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.errors import KeyringError
from prober.prompt.keyring import Keyring

SECRET = bytes(range(32))
OTHER = bytes(range(100, 132))


def test_first_epoch_is_zero():
    """A new keyring starts at epoch 0 with the caller's secret."""
    keyring = Keyring.create(SECRET)
    assert (keyring.current_epoch, keyring.epochs(), keyring.secret(0)) == (0, (0,), SECRET)


def test_rotation_keeps_old_epochs():
    """A rotated keyring writes with the new secret and still holds the old one and its lineage."""
    old = Keyring.create(SECRET)
    new = old.rotate(OTHER)
    assert (new.current_epoch, new.epochs()) == (1, (0, 1))
    assert (new.secret(0), new.secret(1)) == (SECRET, OTHER)
    assert new.lineage_key("x") == old.lineage_key("x")


def test_rotation_wraps_by_dropping_the_oldest():
    """After 32 epochs the number starts anew and the oldest secret goes."""
    keyring = Keyring.create(SECRET)
    for number in range(32):
        keyring = keyring.rotate(bytes([number]) * 32)
    assert (keyring.current_epoch, len(keyring.epochs())) == (0, 32)
    assert keyring.secret(0) == bytes([31]) * 32
    assert keyring.rotate(OTHER).secret(1) == OTHER


def test_unknown_epoch_is_refused():
    """A secret of an epoch that was never held is an error of the keyring's own kind."""
    with pytest.raises(KeyringError, match="epoch 7"):
        Keyring.create(SECRET).secret(7)


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_secrets_have_32_bytes(length: int):
    """Secrets of any other length are refused, at creation and at rotation."""
    with pytest.raises(KeyringError):
        Keyring.create(bytes(length))
    with pytest.raises(KeyringError):
        Keyring.create(SECRET).rotate(bytes(length))


def test_keys_are_separated():
    """Keys differ by purpose, by epoch, and between epoch and lineage."""
    keyring = Keyring.create(SECRET).rotate(OTHER)
    keys = {
        keyring.epoch_key(0, "a"),
        keyring.epoch_key(0, "b"),
        keyring.epoch_key(1, "a"),
        keyring.lineage_key("a"),
        keyring.lineage_key("b"),
    }
    assert len(keys) == 5


def test_fingerprint_names_the_current_secret():
    """The public id is short, stable, changes with the secret, and is no part of it."""
    keyring = Keyring.create(SECRET)
    assert keyring.fingerprint() == Keyring.create(SECRET).fingerprint()
    assert keyring.fingerprint() != keyring.rotate(OTHER).fingerprint()
    assert len(keyring.fingerprint()) == 12
    assert keyring.fingerprint() not in SECRET.hex()


def test_text_of_a_keyring_hides_secrets():
    """Neither repr nor str nor a formatted dump shows a secret."""
    keyring = Keyring.create(SECRET).rotate(OTHER)
    shown = f"{keyring} {keyring!r} {[keyring]}"
    assert "epochs=(0, 1)" in shown
    for secret in (SECRET, OTHER, keyring.lineage):
        assert secret.hex() not in shown
        assert repr(secret) not in shown


@settings(max_examples=30, derandomize=True)
@given(st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=40))
def test_file_round_trip(secrets: list[bytes]):
    """What is written is read back equal, however often the key was rotated."""
    keyring = Keyring.create(secrets[0])
    for secret in secrets[1:]:
        keyring = keyring.rotate(secret)
    assert Keyring.from_json(keyring.to_json()) == keyring


def broken(**changes: object) -> str:
    content = json.loads(Keyring.create(SECRET).to_json()) | changes
    return json.dumps({key: value for key, value in content.items() if value is not None})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "not json SECRETSECRET",
        "[" * 100_000,
        broken(version=2),
        broken(kind="other"),
        broken(current_epoch="0"),
        broken(current_epoch=True),
        broken(current_epoch=5),
        broken(lineage=None),
        broken(lineage="zz"),
        broken(lineage="00"),
        broken(secrets=None),
        broken(secrets=["SECRETSECRET"]),
        broken(secrets={"0": "SECRETSECRET"}),
        broken(secrets={"x": SECRET.hex()}),
        broken(secrets={"0": SECRET.hex(), "40": SECRET.hex()}),
        broken(secrets={"0": 3}),
        broken(secrets={}),
    ],
)
def test_other_files_are_refused_without_quoting(text: str):
    """Anything but a keyring file is refused; neither the message nor its causes quote the content."""
    with pytest.raises(KeyringError) as caught:
        Keyring.from_json(text)
    assert "SECRET" not in str(caught.value)
    assert SECRET.hex() not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_keyrings_pickle_for_worker_processes():
    """A keyring survives being handed to another process."""
    keyring = Keyring.create(SECRET)
    assert pickle.loads(pickle.dumps(keyring)) == keyring  # noqa: S301 - our own bytes
