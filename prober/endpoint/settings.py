"""How to reach one target. Secrets stand in fields that no repr shows."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import httpx

from prober import __version__
from prober.domain.errors import ConfigError

DEFAULT_USER_AGENT = f"isolation-prober/{__version__} (+synthetic tenant isolation probe)"

REQUEST_ID_HEADER = "X-Request-Id"
DEFAULT_SESSION_HEADER = "x-session-affinity"
"""Cloudflare Workers AI's: pins requests to one instance of an LLM (developers.cloudflare.com, prompt caching)."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?|")
_OURS = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
        "x-request-id",
    }
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """Address, way there, bounds. Raises ConfigError for what cannot work; its message never shows a secret."""

    base_url: str = dataclasses.field(repr=False)
    """http(s) URL up to where the dialect's path begins. Not shown: it may name an account."""
    proxy: str | None = dataclasses.field(default=None, repr=False)
    """http(s) URL; may carry user and password."""
    ca_file: str | None = None
    """PEM; replaces the public authorities."""
    client_cert: tuple[str, str] | None = None
    """PEM files: certificate chain, key."""
    credential_header: str = "authorization"
    credential_scheme: str = "Bearer"
    """Stands before the credential; empty for headers that hold the bare key."""
    session_header: str = DEFAULT_SESSION_HEADER
    """Carries the affinity key of probes that have one."""
    extra_headers: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    extra_body: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    user_agent: str = DEFAULT_USER_AGENT
    connect_timeout: float = 10.0
    """Seconds for resolving, connecting, tunnel and TLS together."""
    hang_seconds: float | None = None
    """Seconds without a byte that are a hang; None: the target's own figure."""
    deadline_seconds: float = 1800.0
    """Seconds for the whole probe, connecting included."""
    max_response_bytes: int = 4 << 20
    starts_per_period: int = 10
    """Requests one tenant may start per `period_seconds`."""
    period_seconds: float = 1.0
    max_in_flight: int = 8
    """Requests of one tenant in flight together."""

    def __post_init__(self) -> None:
        """Reject what would fail, or hang, at the first probe."""
        _check_url(self.base_url, "base_url", may_have_user=False)
        if self.proxy is not None:
            _check_url(self.proxy, "proxy", may_have_user=True)
        for name, value in self.extra_headers.items():
            check_header(name, value)
            if name.lower() in _OURS or name.lower() == self.credential_header.lower():
                raise ConfigError(f"extra header {name} is set by the prober itself")
        check_header(self.credential_header, self.credential_scheme)
        check_header("user-agent", self.user_agent)
        check_header(self.session_header, "")
        if self.session_header.lower() in _OURS | {self.credential_header.lower()}:
            raise ConfigError(f"session header {self.session_header} carries something else already")
        seconds = (self.connect_timeout, self.deadline_seconds, self.period_seconds)
        if min(seconds) <= 0 or (self.hang_seconds is not None and self.hang_seconds <= 0):
            raise ConfigError("time limits and the pacing period must be above 0 seconds")
        if min(self.max_response_bytes, self.starts_per_period, self.max_in_flight) < 1:
            raise ConfigError("max_response_bytes, starts_per_period and max_in_flight must be at least 1")

    @property
    def is_tls(self) -> bool:
        """Some connection will need certificates."""
        return any(url is not None and url.lower().startswith("https:") for url in (self.base_url, self.proxy))


def check_header(name: str, value: str) -> None:
    """Raise ConfigError, naming the header but not its value, unless both can be sent as they are."""
    if not _HEADER_NAME.fullmatch(name):
        raise ConfigError("a header name holds characters that HTTP does not allow")
    if not _HEADER_VALUE.fullmatch(value):
        raise ConfigError(f"the value of header {name} holds characters that HTTP does not allow, or blanks around it")


def _check_url(text: str, setting: str, *, may_have_user: bool) -> None:
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, TypeError):
        raise ConfigError(f"{setting} is no URL") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigError(f"{setting} must begin with http:// or https:// and name a host")
    if url.query or url.fragment:
        raise ConfigError(f"{setting} must not hold a query or a fragment")
    if url.userinfo and not may_have_user:
        raise ConfigError(f"{setting} must not hold a user or password; credentials belong to the tenants")
