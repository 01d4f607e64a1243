"""Why requests were refused: every body that inference servers and gateways are documented to send."""

import json
import pathlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.observation import RefusalReason
from prober.endpoint.refusals import classify

BODIES = pathlib.Path(__file__).parent / "bodies"
"""One documented answer a line: status, JSON `body` or `plain` text, and what must be read from it."""

ROWS = [row for name in ("length.json", "other.json") for row in json.loads((BODIES / name).read_text("utf-8"))]


def encoded(body: object) -> bytes:
    return json.dumps(body).encode()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_documented_refusals_are_told_apart(row: dict):
    """Each documented error has its reason and code; only length rejections state limits and an exact count."""
    body = row["plain"].encode() if "plain" in row else encoded(row["body"])

    refusal = classify(row["status"], body)

    assert refusal.reason is RefusalReason(row["reason"])
    assert refusal.code == row["code"]
    assert list(refusal.stated_limits) == row["limits"]
    assert refusal.stated_tokens == row["tokens"]


def test_every_reason_is_documented_by_a_body():
    """The table covers each reason that a refusal can have."""
    assert {RefusalReason(row["reason"]) for row in ROWS} == set(RefusalReason)


@pytest.mark.parametrize("in_stream", [False, True])
def test_the_place_of_the_error_is_kept(in_stream: bool):  # noqa: FBT001  (a test parameter)
    """A refusal says whether it came as a frame inside a stream."""
    assert classify(200, b'{"error":"x"}', in_stream=in_stream).in_stream is in_stream


@pytest.mark.parametrize(
    "code",
    ["a sentence of someone else's text", "x" * 65, "", "-leading", "two\nlines", {"deep": "text"}, True, None],
)
def test_only_identifiers_become_codes(code: object):
    """A code that is no short identifier is dropped whole, never cut down to something of the peer's text."""
    assert classify(400, encoded({"error": {"code": code}})).code == ""


@pytest.mark.parametrize(
    "wrap", [lambda text: {"error": {"message": text, "code": "c1"}}, lambda text: {"detail": text}]
)
def test_no_text_of_the_peer_survives(wrap: Callable[[str], object]):
    """Nothing of an error's message stands in the refusal's repr."""
    refusal = classify(400, encoded(wrap("prompt is too long for our customer Heloise Abelard of 12 Rue de Seine")))

    assert refusal.reason is RefusalReason.LENGTH
    assert not any(word in repr(refusal) for word in ("Heloise", "Abelard", "Rue", "customer"))


def test_text_beyond_the_bound_is_not_searched():
    """Patterns see the first 16,384 characters of message text, so that a huge body costs no time."""
    padding = "x " * 8192

    assert classify(400, encoded({"error": padding + "prompt is too long"})).reason is RefusalReason.OTHER
    assert classify(400, encoded({"error": "prompt is too long" + padding})).reason is RefusalReason.LENGTH
    assert classify(400, b"prompt is too long" + b"x" * 5_000_000).reason is RefusalReason.LENGTH


def test_an_echo_of_our_own_prompt_is_not_searched():
    """A validation error that repeats the request is judged by its message, not by our text inside it."""
    body = encoded(
        {"detail": [{"msg": "bad field", "input": "quota, prompt is too long"}], "body": "prompt is too long"}
    )

    assert classify(422, body).reason is RefusalReason.OTHER


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["error", "errors", "message", "detail", "code", "type", "status", "n_ctx", "raw"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(status=st.integers(0, 999), body=st.binary(max_size=200) | JSON_VALUES.map(encoded))
def test_any_body_is_classified(status: int, body: bytes):
    """No body makes the classification raise, and its code is always a bounded identifier."""
    refusal = classify(status, body)

    assert len(refusal.code) <= 64
    assert refusal.code.isascii()
    assert not any(character.isspace() for character in refusal.code)
    assert refusal.stated_limits == tuple(sorted(set(refusal.stated_limits)))


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"error":' * 50_000, b"1" * 50_000, b'{"n_ctx":1e999}', b'"\\ud800"']
)
def test_hostile_json_is_classified_by_status(body: bytes):
    """Nesting without end, endless digits, infinities and lone surrogates leave the status to decide."""
    assert classify(503, body).reason is RefusalReason.OVERLOAD
