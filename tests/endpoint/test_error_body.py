"""Error bodies of every shape, taken apart."""

import json
import time

import pytest

from prober.endpoint.error_body import parse_error


@pytest.mark.parametrize(
    ("body", "text", "codes", "status"),
    [
        ({"error": {"message": "m", "type": "t", "code": 400}}, "m", ("400", "t"), 400),
        (
            {"object": "error", "message": "m", "type": "BadRequestError", "code": 400},
            "m",
            ("400", "BadRequestError"),
            400,
        ),
        ({"error": "m", "error_type": "validation"}, "m", ("validation",), None),
        ({"detail": "m"}, "m", (), None),
        ({"detail": [{"msg": "m1", "type": "missing"}, {"msg": "m2"}]}, "m1\nm2", ("missing",), None),
        ({"success": False, "errors": [{"code": 5007, "message": "m"}]}, "m", ("5007",), None),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, "m", ("overloaded_error",), None),
        (
            {"type": "response.failed", "response": {"error": {"code": "c", "message": "m"}}},
            "m",
            ("response.failed", "c"),
            None,
        ),
        ([{"error": {"message": "m", "code": 404}}], "m", ("404",), 404),
        ({"error": {"message": "m", "metadata": {"raw": "inner"}}}, "m\ninner", (), None),
        ({"result": {"error": {"code": "c"}, "response": "an answer"}}, "", ("c",), None),
        ({"result": "an answer", "response": "an answer", "message": "m"}, "m", (), None),
        ({"Message": "m"}, "m", (), None),
        ("m", "m", (), None),
        ({"message": "3010: AiError: m"}, "3010: AiError: m", ("3010",), None),
        ({"message": "AiError: AiError: 5021: m"}, "AiError: AiError: 5021: m", ("5021",), None),
        ({}, "", (), None),
    ],
)
def test_json_shapes(body: object, text: str, codes: tuple[str, ...], status: int | None):
    """Message texts, codes and the inner status are found in every documented shape."""
    parsed = parse_error(json.dumps(body).encode())

    assert (parsed.text, parsed.codes, parsed.status) == (text, codes, status)


@pytest.mark.parametrize(
    ("body", "codes", "status"),
    [
        (b"Internal Server Error", (), None),
        (b"<html>502</html>", (), None),
        (b"""{'error': {"message": "m", 'code': 'c_1', "status":500}}""", ("c_1",), 500),
        (b'{"error":{"code":"cut_off","mess', ("cut_off",), None),
        (b"", (), None),
        (b"null", (), None),
    ],
)
def test_shapes_that_are_no_json(body: bytes, codes: tuple[str, ...], status: int | None):
    """Plain text, HTML, Python's repr and cut JSON are kept as text, with the codes that stand in them."""
    parsed = parse_error(body)

    assert (parsed.text, parsed.codes, parsed.status) == (body.decode(), codes, status)


def test_context_numbers():
    """llama.cpp states both numbers in fields of their own."""
    parsed = parse_error(b'{"error":{"n_prompt_tokens":4095,"n_ctx":2048}}')

    assert (parsed.prompt_tokens, parsed.context_tokens) == (4095, 2048)


def test_the_text_is_bounded_and_not_printed():
    """At most 16,384 characters are kept, and none of them in the repr."""
    for body in (json.dumps({"error": "secret" * 50_000}).encode(), b"secret" * 50_000):
        parsed = parse_error(body)

        assert len(parsed.text) == 16_384
        assert "secret" not in repr(parsed)


def test_nesting_is_bounded():
    """Texts deeper than any real body puts them are not searched for."""
    assert parse_error(b'{"error":' * 8 + b'"deep"' + b"}" * 8).text == ""
    assert parse_error(b'{"error":' * 5 + b'"near"' + b"}" * 5).text == "near"


def test_lists_are_bounded():
    """Of a long list of errors the first eight are read."""
    assert parse_error(json.dumps({"errors": [str(number) for number in range(100)]}).encode()).text == "\n".join(
        "01234567"
    )


@pytest.mark.alone
@pytest.mark.parametrize("blank", ["\n", " ", "\r\n", "\t", "\n ", "\nAiError: "])
def test_blanks_without_end_are_read_in_no_time(blank: str):
    """A peer must not stop our event loop, and with it all other probes' timing, by thousands of empty lines."""
    begun = time.perf_counter()
    parse_error(blank.encode() * 16_384)
    parse_error(json.dumps({"error": {"message": blank * 16_384}}).encode())
    assert time.perf_counter() - begun < 1.0
