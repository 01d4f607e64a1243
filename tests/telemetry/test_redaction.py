"""Secrets stay out of everything that is written."""

import base64
import json
import urllib.parse

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.telemetry.redaction import Redactor

SECRET = 'tenant-A:"Key"/0987+é654321'


@pytest.mark.parametrize(
    "spell",
    [
        lambda secret: secret,
        str.upper,
        str.lower,
        json.dumps,
        lambda secret: json.dumps(secret, ensure_ascii=False),
        lambda secret: json.dumps(json.dumps({"k": secret})),
        repr,
        urllib.parse.quote,
        lambda secret: urllib.parse.quote(secret, safe=""),
        lambda secret: urllib.parse.urlencode({"k": secret}),
        lambda secret: secret.encode().hex(),
        lambda secret: secret.encode().hex().upper(),
        lambda secret: base64.b64encode(secret.encode()).decode(),
        lambda secret: base64.urlsafe_b64encode(b"user:" + secret.encode()).decode(),
        lambda secret: base64.b64encode(b"ab" + secret.encode() + b"tail").decode(),
        lambda secret: base64.b64encode(b"a" + secret.encode()).decode(),
    ],
)
def test_a_registered_secret_is_removed_in_every_spelling(spell):  # noqa: ANN001  (functions of one string)
    """A secret is removed whole, in any case, quoted, escaped, in hexadecimal and inside base64."""
    spelled = spell(SECRET)

    shown = Redactor([SECRET]).redact(f"before {spelled} after")

    assert "[redacted]" in shown
    for piece in ("0987", "654321", base64.b64encode(SECRET.encode()).decode()[4:-4], SECRET.encode().hex()[4:-4]):
        assert piece.lower() not in shown.lower()
    assert shown.startswith("before")
    assert shown.endswith("after")


@settings(max_examples=60, derandomize=True, deadline=None)
@given(secret=st.text(min_size=1, max_size=40), before=st.text(max_size=20), after=st.text(max_size=20))
def test_no_secret_survives_in_any_surroundings(secret: str, before: str, after: str):
    """Whatever stands around it, a secret of more than a few characters does not come through."""
    shown = Redactor([secret]).redact(before + secret + after)

    if len(secret) > len("[redacted]"):
        assert secret not in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abc.def-1234", "Authorization: Bearer [redacted]"),
        ("authorization: BEARER abc.def-1234 x", "authorization: BEARER [redacted] x"),
        ("Basic dXNlcjpwYXNzd29yZA==", "Basic [redacted]"),
        ("key sk-proj-abcdefghijkl0123 used", "key [redacted] used"),
        ("postgresql://me:pw@db/x", "postgresql://[redacted]@db/x"),
        ("?api_key=abc123&x=1", "?api_key=[redacted]&x=1"),
        ("password: hunter2, next", "password: [redacted], next"),
        ("token=abc", "token=[redacted]"),
        ("eyJhbGciOiJIUzI1.eyJzdWIi.c2ln", "[redacted]"),
        ("first token: 0.31 s after the start", "first token: 0.31 s after the start"),
        ("http://lab:8000/v1", "http://lab:8000/v1"),
        ("a basic test of tokens", "a basic test of tokens"),
    ],
)
def test_what_looks_like_a_secret_is_removed(text: str, shown: str):
    """Unregistered credentials are known by their looks; ordinary sentences are left alone."""
    assert Redactor().redact(text) == shown


def test_text_is_bounded_after_redaction():
    """A long text is cut behind 1,000 characters, and a secret that spans the cut is removed first."""
    shown = Redactor([SECRET]).redact("x" * 990 + SECRET + "y" * 200_000)

    assert shown.startswith("x" * 990 + "[redacted]"[:10])
    assert shown.endswith(" characters)")
    assert len(shown) < 1_050
    assert "tenant" not in shown


def test_the_number_of_characters_left_out_is_stated():
    """A cut text says how much is missing."""
    assert Redactor().redact("a" * 1_007) == "a" * 1_000 + "... (+7 characters)"
    assert Redactor().redact("a" * 100_000) == "a" * 1_000 + "... (+99000 characters)"
    assert Redactor().redact("a" * 1_000) == "a" * 1_000


@pytest.mark.parametrize("character", ["\n", "\r", "\x1b", "\x00", "\x9b", "\u2028", "\ud800"])
def test_control_characters_are_escaped(character: str):
    """No text can forge a log line, drive a terminal or break the encoding."""
    shown = Redactor().redact(f"a{character}b")

    assert character not in shown
    assert shown.startswith("a\\")
    assert shown.encode()


@pytest.mark.parametrize(
    "key",
    [
        *("Authorization", "api_key", "apiKey", "credential", "credentials_file", "password", "cookie", "token"),
        *("access_token", "client-secret", "private_pem", "key"),
    ],
)
def test_fields_named_like_secrets_are_hidden(key: str):
    """A field's name alone hides its value."""
    assert Redactor.hides(key)


@pytest.mark.parametrize("key", ["prompt_tokens", "first_token_seconds", "canary", "event", "keyring_epoch", "tenant"])
def test_fields_of_ours_are_shown(key: str):
    """Counts and ids are no secrets."""
    assert not Redactor.hides(key)


def test_an_empty_secret_is_ignored():
    """Nothing is registered for nothing, instead of redacting everything."""
    redactor = Redactor(["", "a-real-secret"])

    assert redactor.redact("plain a-real-secret") == "plain [redacted]"


def test_the_redactor_does_not_print_what_it_hides():
    """The keeper of secrets shows a count only."""
    assert "tenant" not in repr(Redactor([SECRET]))
    assert repr(Redactor()) == "Redactor(0 spellings)"
