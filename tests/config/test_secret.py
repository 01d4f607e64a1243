"""Secrets keep themselves."""

import copy
import json
import pickle
from collections.abc import Callable

import pytest
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from prober.config.secret import MASK, Secret

VALUE = "sk-live-9f8E7d6C5b4A"


class Holder(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    key: Secret


@pytest.mark.parametrize(
    "show",
    [
        repr,
        str,
        "{}".format,
        "{:>40}".format,
        "{!r}".format,
        lambda secret: "%s %r" % (secret, secret),  # noqa: UP031 - the old way must not show it either
        lambda secret: repr([secret, {"a": secret}]),
        lambda secret: repr(Holder(key=secret)),
        lambda secret: str(Holder(key=secret)),
        lambda secret: Holder(key=secret).model_dump_json(),
        lambda secret: repr(Holder(key=secret).model_dump()),
        lambda secret: json.dumps({"key": secret}, default=str),
        ascii,
    ],
)
def test_no_way_of_printing_shows_a_secret(show: Callable[[object], str]):
    """Whatever prints a secret prints a mask of fixed length."""
    shown = show(Secret(VALUE))
    assert VALUE not in shown
    assert MASK in shown
    assert show(Secret("x")) == shown


@pytest.mark.parametrize("fail", [pickle.dumps, json.dumps, lambda secret: pickle.dumps(Holder(key=secret))])
def test_secrets_are_not_serialised(fail: Callable[[object], object]):
    """Pickling and plain JSON refuse, and the refusal shows nothing."""
    with pytest.raises(TypeError) as caught:
        fail(Secret(VALUE))
    assert VALUE not in str(caught.value)


def test_secret_has_no_dictionary_to_look_into():
    """`vars` is how loggers and debuggers print objects."""
    with pytest.raises(TypeError):
        vars(Secret(VALUE))


def test_reveal_gives_the_value():
    """The one way in is explicit."""
    assert Secret(VALUE).reveal() == VALUE


def test_secrets_compare_by_value():
    """Equal credentials are recognised; strings are no secrets; hashes agree with equality."""
    assert Secret(VALUE) == Secret(VALUE)
    assert Secret(VALUE) != Secret("other")
    assert Secret(VALUE) != VALUE
    assert len({Secret(VALUE), Secret(VALUE), Secret("ü")}) == 2
    assert not Secret("")


def test_copies_are_the_secret_itself():
    """Settings can be copied although secrets refuse pickling."""
    secret = Secret(VALUE)
    assert copy.copy(secret) is secret
    assert copy.deepcopy({"a": secret})["a"] is secret


def test_validation_takes_text_and_secrets_only():
    """Anything else is refused without being shown."""
    adapter = TypeAdapter(Secret)
    assert adapter.validate_python(Secret(VALUE)) == adapter.validate_python(VALUE)
    with pytest.raises(ValidationError) as caught:
        Holder.model_validate({"key": [VALUE]})
    assert VALUE not in str(caught.value)
