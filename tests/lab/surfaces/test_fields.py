"""Reading fields of a body."""

import math

import pytest

from prober.lab.surfaces.fields import RequestError, number, parse_object, string


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"\xff{}", "not valid UTF-8"),
        (b'{"a": ', "not valid JSON at character 6"),
        (b"", "not valid JSON at character 0"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b"[]", "must be a JSON object"),
        (b'"x"', "must be a JSON object"),
    ],
)
def test_bodies_that_are_no_json_object_are_refused(body: bytes, message: str):
    """A broken body is the client's fault and says where, without repeating the body."""
    with pytest.raises(RequestError, match=message):
        parse_object(body)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, 1.0), (0.5, 0.5), (True, None), ("1", None), (None, None), (10**400, math.inf), (-(10**400), -math.inf)],
)
def test_numbers_are_jsons_numbers(value: object, expected: float | None):
    """True is no number, and a number of any size can be compared."""
    assert number(value) == expected


def test_strings_have_a_default_and_nothing_else_does():
    """Null is as good as missing; another type is the client's mistake."""
    assert [string(fields, "name", "x") for fields in ({}, {"name": None}, {"name": ""}, {"name": "y"})] == [
        "x",
        "x",
        "",
        "y",
    ]
    with pytest.raises(RequestError, match="name: must be a string"):
        string({"name": 3}, "name", "x")
