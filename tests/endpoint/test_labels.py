"""Names from a peer."""

import pytest

from prober.endpoint.labels import Blinds, digest, label


@pytest.mark.parametrize("name", ["chatcmpl-8f", "@cf/zai-org/glm-5.3", "stop", "8f3a-FRA", "a" * 200])
def test_identifiers_stay_as_they_are(name: str):
    """Ids and names are what finds a request in the server's own logs."""
    assert label(name) == name


@pytest.mark.parametrize("text", ["Dear Ms Huber", "a\nb", "x" * 201, "caf\u00e9", "\ud800", ""])
def test_anything_else_is_known_by_its_hash(text: str):
    """A sentence in a name's place may be a customer's; equal ones can still be told from different ones."""
    assert label(text) == digest(text)
    assert label(text).startswith("sha256:")
    assert digest(text) != digest(text + ".")


@pytest.mark.parametrize(
    "text",
    [
        "https://user:pw@backend:8000/v1",
        "http://key@backend/v1",
        "sk-live-4f9a8b7c6d5e",
        "azure/sk-proj-4f9a8b7c6d5e",
        "ghp_16C7e42F292c6912E7",
        "xoxb-123456789012",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x",
    ],
)
def test_credentials_of_others_are_known_by_their_hash(text: str):
    """A gateway that names its backend with the key in it must not have us keep that key."""
    assert label(text) == digest(text)


@pytest.mark.parametrize(
    "name", ["sk-1", "task_0123456789", "https://api.example/v1", "@cf/meta/llama", "risk-assessor-7b"]
)
def test_what_only_looks_a_little_like_a_credential_stays(name: str):
    """Hashes in place of names cost whoever reads a finding its first clue."""
    assert label(name) == name


def test_blinds_hide_our_secrets_and_nothing_else():
    """Secrets vanish in any case; names without one, and short settings, pass."""
    blinds = Blinds(["sk-Secret-1234", "true"])

    assert blinds.over("id-SK-SECRET-1234-x") == digest("id-SK-SECRET-1234-x")
    assert blinds.over("construed-true") == "construed-true"
    assert blinds.over_any(None) is None
    assert blinds.over_any("stop") == "stop"
    assert "ecret-1234" not in repr(blinds).lower()
