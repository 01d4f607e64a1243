from typing import Any

import pytest

from prober import __version__
from prober.domain.errors import ConfigError
from prober.endpoint.settings import ConnectionSettings, check_header

URL = "https://host.example/v1"


def test_repr_shows_no_secret():
    """Proxy passwords, extra headers and body fields, and the account in the address stay out of repr."""
    settings = ConnectionSettings(
        base_url="https://host.example/accounts/acc0unt/ai",
        proxy="http://user:pr0xy-pass@proxy.example:3128",
        extra_headers={"cf-aig-authorization": "Bearer gateway-key"},
        extra_body={"key": "b0dy-key"},
    )
    for secret in ("acc0unt", "pr0xy-pass", "gateway-key", "b0dy-key"):
        assert secret not in repr(settings)


def test_user_agent_is_honest_by_default():
    """Operators can tell our traffic by its name and version."""
    assert ConnectionSettings(base_url=URL).user_agent == (
        f"isolation-prober/{__version__} (+synthetic tenant isolation probe)"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"base_url": "ftp://host/v1"},
        {"base_url": "host/v1"},
        {"base_url": "http://"},
        {"base_url": "http://host:port/v1"},
        {"base_url": "https://user:s3cret@host/v1"},
        {"base_url": "https://host/v1?key=s3cret"},
        {"base_url": "https://host/v1#s3cret"},
        {"proxy": "socks5://user:s3cret@proxy"},
        {"extra_headers": {"Authorization": "s3cret"}},
        {"extra_headers": {"Host": "s3cret"}},
        {"extra_headers": {"bad name": "s3cret"}},
        {"extra_headers": {"x-key": "s3cret\r\nx-more: 1"}},
        {"credential_header": "a:b"},
        {"user_agent": "näme"},
        {"session_header": "two words"},
        {"session_header": "X-Request-Id"},
        {"session_header": "Authorization"},
        {"session_header": "X-Api-Key", "credential_header": "x-api-key"},
        {"connect_timeout": 0},
        {"deadline_seconds": -1},
        {"hang_seconds": 0},
        {"period_seconds": 0},
        {"max_response_bytes": 0},
        {"starts_per_period": 0},
        {"max_in_flight": 0},
    ],
)
def test_settings_that_cannot_work_are_refused_without_showing_a_secret(changes: dict[str, Any]):
    """What would fail at the first probe fails at once, and the message holds no secret."""
    with pytest.raises(ConfigError) as caught:
        ConnectionSettings(**{"base_url": URL, **changes})
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("value", ["", "a", "Bearer a b", "~!"])
def test_sendable_header_values_pass(value: str):
    """Printable values without blanks around them are allowed."""
    check_header("x-key", value)


@pytest.mark.parametrize("url", [URL, "http://127.0.0.1:8000/v1", "http://[::1]:8000/v1", "HTTPS://HOST/v1"])
def test_usual_addresses_pass(url: str):
    """Names, IPv4 and IPv6 addresses with and without port are allowed; TLS is seen whatever the case."""
    assert ConnectionSettings(base_url=url).is_tls == url.lower().startswith("https")


def test_https_proxy_needs_certificates_too():
    """TLS to the proxy alone is TLS."""
    assert ConnectionSettings(base_url="http://host/v1", proxy="https://proxy:1").is_tls


def test_the_session_header_is_workers_ai_s_by_default():
    """Where nothing is configured, affinity keys go where Workers AI reads them."""
    assert ConnectionSettings(base_url=URL).session_header == "x-session-affinity"
