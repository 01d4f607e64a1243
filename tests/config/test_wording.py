"""Errors in our own words."""

from typing import get_args

import pytest
from pydantic_core.core_schema import ErrorType

from prober.config import wording
from prober.config.schema import TargetSettings


@pytest.mark.parametrize("kind", sorted(set(get_args(ErrorType))))
def test_no_error_type_speaks_in_foreign_words(kind: str):
    """Whatever pydantic objects to, the text is ours: an input in its context cannot get into it."""
    limits = {"gt": 0, "ge": 1, "lt": 2, "le": 3.0, "expected": "'a' or 'b'"}
    context = {**limits, "error": "sk-live-1", "input_value": "sk-live-1", "tag": "sk-live-1"}
    message = wording.message(kind, context)
    assert "sk-live" not in message
    assert message == "unknown key" or message.startswith(("must be", "is "))


@pytest.mark.parametrize(
    ("kind", "context", "message"),
    [
        ("greater_than", {"gt": 0.0}, "must be above 0"),
        ("greater_than_equal", {"ge": 64}, "must be at least 64"),
        ("less_than", {"lt": 2048}, "must be below 2048"),
        ("less_than_equal", {"le": 1_000_000_000}, "must be at most 1000000000"),
        ("enum", {"expected": "'reject' or 'truncate'"}, "must be reject or truncate"),
        ("literal_error", {"expected": "1"}, "must be 1"),
        ("something_new", {}, "is not valid here"),
    ],
)
def test_limits_and_choices_are_named(kind: str, context: dict[str, object], message: str):
    """Limits and choices are the schema's own and help."""
    assert wording.message(kind, context) == message


def test_close_keys_are_suggested():
    """A typo gets its key, a stranger does not."""
    assert wording.unknown_key("contxt_tokens", TargetSettings) == "unknown key; did you mean context_tokens?"
    assert wording.unknown_key("zzz", TargetSettings) == "unknown key"
    assert wording.unknown_key("version", None) == "unknown key"
