"""Rules for single values."""

import pytest
from pydantic_core import PydanticCustomError

from prober.config import rules
from prober.config.secret import Secret


@pytest.mark.parametrize(
    "address",
    [
        "https://api.example",
        "http://127.0.0.1:8000/v1",
        "http://[::1]:8000/v1",
        "HTTPS://API.example/client/v4/accounts/0123",
    ],
)
def test_addresses_of_targets(address: str):
    """Schemes, ports, IPv6 and paths pass unchanged."""
    assert rules.url(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "api.example/v1",
        "https://",
        "https://a b/",
        "https://a/\n",
        "https://[::1/",
        "https://a:99999/",
        "https://a:0/",
    ],
)
def test_what_is_no_address(address: str):
    """No host, blanks, broken brackets and impossible ports are refused, unquoted."""
    with pytest.raises(PydanticCustomError, match="must be a URL"):
        rules.url(address)


@pytest.mark.parametrize("address", ["https://a/?", "https://a/#", "https://a/?b=c"])
def test_addresses_have_no_query(address: str):
    """Even an empty query or fragment would end up before the dialect's path."""
    with pytest.raises(PydanticCustomError, match="query or fragment"):
        rules.url(address)


@pytest.mark.parametrize("address", ["https://u@a/", "https://:p@a/", "https://@a/"])
def test_addresses_have_no_user(address: str):
    """Credentials belong to tenants; an empty user is still one."""
    with pytest.raises(PydanticCustomError, match="user or password"):
        rules.url(address)


def test_proxies_may_have_a_user():
    """A proxy's credentials have no other place, which is why its address is a secret."""
    assert rules.proxy(Secret("http://u:p@proxy:3128")).reveal() == "http://u:p@proxy:3128"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://api.example", True),
        ("HTTP://api.example", True),
        ("https://api.example", False),
        ("http://localhost:1", False),
        ("http://127.0.0.1", False),
        ("http://[::1]", False),
    ],
)
def test_plain_http_is_told_from_the_rest(address: str, *, expected: bool):
    """Only what leaves this machine unencrypted counts."""
    assert rules.is_plain_http(address) is expected


@pytest.mark.parametrize(
    "url", ["sqlite:///x.db", "sqlite+aiosqlite://", "postgresql://h/d", "postgresql+asyncpg://h/d"]
)
def test_databases_of_the_store(url: str):
    """All four schemes need something behind them."""
    if url.endswith("://"):
        with pytest.raises(PydanticCustomError, match="must be a database URL"):
            rules.database(Secret(url))
    else:
        assert rules.database(Secret(url)).reveal() == url


@pytest.mark.parametrize("value", ["x", "a b", "!~", "x" * 4096])
def test_header_values(value: str):
    """Printable text with inner blanks passes."""
    assert rules.header_value(value) == value


@pytest.mark.parametrize("value", ["", " x", "x ", "a\r\nb", "ä", "x" * 4097])
def test_what_no_header_can_carry(value: str):
    """Blanks at the ends, line breaks and other scripts are refused."""
    with pytest.raises(PydanticCustomError, match="must be printable ASCII"):
        rules.header_value(value)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::", "::1", "fe80::1", "localhost", "prober.internal"])
def test_addresses_to_listen_on(host: str):
    """IPv4, IPv6 and names pass."""
    assert rules.host(host) == host


@pytest.mark.parametrize(
    "host", ["", ":", "-a", ".a", "127.0.0.1:80", "[::1]", "a b", "a/b", "http://a", "ä", "a" * 254]
)
def test_what_nobody_can_listen_on(host: str):
    """Ports, brackets, schemes and blanks are refused."""
    with pytest.raises(PydanticCustomError, match="without a port"):
        rules.host(host)
