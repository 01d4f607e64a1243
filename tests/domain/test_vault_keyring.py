"""Keys of the evidence vault."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.domain.errors import KeyringError
from prober.domain.vault_keyring import KEY_BYTES, VaultKeyring, key_id_of

FIRST, SECOND = bytes(range(32)), bytes(range(32, 64))


def test_rotation_keeps_older_keys_and_drops_them_on_demand():
    """The new key is in force, the old one opens older text until it is dropped; the one in force cannot be."""
    keyring = VaultKeyring.create(FIRST)
    rotated = keyring.rotate(SECOND)

    assert rotated.current == key_id_of(SECOND)
    assert rotated.keys == {key_id_of(FIRST): FIRST, key_id_of(SECOND): SECOND}
    assert rotated.without(key_id_of(FIRST)) == VaultKeyring.create(SECOND)
    with pytest.raises(KeyringError, match="in force"):
        rotated.without(key_id_of(SECOND))
    with pytest.raises(KeyringError, match="no key of this id"):
        keyring.without("f00d")


@given(st.lists(st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES), min_size=1, max_size=5, unique=True))
def test_a_keyring_comes_back_from_its_file_as_it_was(keys: list[bytes]):
    """Ids, keys, order and the one in force survive; the content is one line, for an environment variable."""
    keyring = VaultKeyring.create(keys[0])
    for key in keys[1:]:
        keyring = keyring.rotate(key)

    assert VaultKeyring.from_json(keyring.to_json()) == keyring
    assert list(VaultKeyring.from_json(keyring.to_json()).keys) == list(keyring.keys)
    assert keyring.to_json().count("\n") == 1


SOUND = json.loads(VaultKeyring.create(FIRST).to_json())


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "9" * 5_000,
        "[" * 100_000,
        json.dumps(SOUND | {"kind": "isolation-prober keyring"}),
        json.dumps(SOUND | {"version": 2}),
        json.dumps(SOUND | {"current": None}),
        json.dumps(SOUND | {"current": "f00d"}),
        json.dumps(SOUND | {"keys": {}}),
        json.dumps(SOUND | {"keys": [FIRST.hex()]}),
        json.dumps(SOUND | {"keys": {SOUND["current"]: FIRST.hex()[:-2]}}),
        json.dumps(SOUND | {"keys": {SOUND["current"]: SECOND.hex()}}),
        json.dumps(SOUND | {"keys": {SOUND["current"]: 7}}),
    ],
)
def test_anything_else_is_no_keyring_and_is_not_quoted(content: str):
    """A damaged key would seal text that nobody opens again; a key never stands in a message or its cause."""
    with pytest.raises(KeyringError) as caught:
        VaultKeyring.from_json(content)

    assert FIRST.hex()[:8] not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_keyring_shows_ids_alone():
    """`repr` goes into logs and tracebacks."""
    keyring = VaultKeyring.create(FIRST)

    assert repr(keyring) == f"VaultKeyring(current={keyring.current}, ids=('{keyring.current}',))"
