"""Rules for single values. Each returns the value, or says in our own words what is wrong, never quoting it."""

import dataclasses
import ipaddress
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from pydantic import ValidationInfo
from pydantic_core import PydanticCustomError

from prober.config.secret import Secret

ERROR_TYPE = "rule"

DATABASE_SCHEMES = ("sqlite", "sqlite+aiosqlite", "postgresql", "postgresql+asyncpg")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_LLM_NAME = re.compile(r"[\x21-\x7e]{1,256}")
_HOST = re.compile(r"[0-9A-Za-z][0-9A-Za-z.-]{0,252}")
_LABEL = re.compile(r"[\x20-\x7e]{0,128}")
_CURRENCY = re.compile(r"[A-Z]{3}")
_CREDENTIAL = re.compile(r"[\x21-\x7e]{1,4096}")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")  # RFC 9110, section 5.6.2
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?")

_OUR_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
        "x-request-id",
    }
)
_OUR_FIELDS = frozenset(
    {
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "model",
        "prompt",
        "stream",
        "stream_options",
        "temperature",
    }
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Names that other packages define: the validation's context, since this package may not look them up."""

    dialects: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()


def wrong(message: str) -> PydanticCustomError:
    """Build the error of a broken rule."""
    return PydanticCustomError(ERROR_TYPE, "{message}", {"message": message})


def name(value: str) -> str:
    """Names stand in metrics, file names and reports."""
    if not is_name(value):
        raise wrong("must be 1 to 63 letters, digits, - or _, and begin with a letter or digit")
    return value


def is_name(value: str) -> bool:
    """Tell whether a target or tenant may be called so."""
    return _NAME.fullmatch(value) is not None


def llm_name(value: str) -> str:
    """Names of LLMs are printable and have no blanks."""
    return _matching(value, _LLM_NAME, "must be 1 to 256 printable ASCII characters without blanks")


def host(value: str) -> str:
    """Addresses to listen on: an IPv4 or IPv6 address, or a name."""
    try:
        return str(ipaddress.ip_address(value))
    except ValueError:
        return _matching(value, _HOST, "must be an IP address or a host name, without a port")


def label(value: str) -> str:
    """Labels are printable."""
    return _matching(value, _LABEL, "must be at most 128 printable ASCII characters")


def currency(value: str) -> str:
    """Currencies go by their codes of three capitals (ISO 4217)."""
    return _matching(value, _CURRENCY, "must be three capital letters, such as USD or EUR")


def credential(value: Secret) -> Secret:
    """Credentials travel in a header."""
    if not value:
        raise wrong("is empty")
    if not _CREDENTIAL.fullmatch(value.reveal()):
        raise wrong("holds blanks, line breaks or other characters that a header cannot carry")
    return value


def header_value(value: str) -> str:
    """Values of headers are printable, without blanks at the ends."""
    return _matching(value, _HEADER_VALUE, "must be printable ASCII characters without blanks at the ends")


def header_name(value: str) -> str:
    """A header's name must be sendable and must not be one of the prober's own."""
    if not _HEADER_NAME.fullmatch(value):
        raise wrong("a header's name holds characters that HTTP does not allow")
    if value.lower() in _OUR_HEADERS:
        raise wrong(f"{value.lower()} is set by the prober itself")
    return value


def headers(value: dict[str, Secret]) -> dict[str, Secret]:
    """Headers must be sendable and must not be the prober's own."""
    for key, secret in value.items():
        header_name(key)
        if not _HEADER_VALUE.fullmatch(secret.reveal()):
            raise wrong("a header's value must be printable ASCII characters without blanks at the ends")
    if len({key.lower() for key in value}) < len(value):
        raise wrong("a header stands here twice")
    return value


def body(value: dict[str, object]) -> dict[str, object]:
    """Fields that decide what a probe is stay the prober's."""
    ours = sorted(_OUR_FIELDS & value.keys())
    if ours:
        raise wrong(f"{', '.join(ours)} is set by the prober itself")
    return value


def url(value: str) -> str:
    """Address of a target: credentials belong to tenants, and paths are the dialect's."""
    parts = _split(value, "http://… or https://…")
    if parts.username is not None or parts.password is not None:
        raise wrong("must not hold a user or password; credentials belong to the tenants")
    if parts.query or parts.fragment or "?" in value or "#" in value:
        raise wrong("must not hold a query or fragment")
    return value


def proxy(value: Secret) -> Secret:
    """Address of a proxy."""
    parts = _split(value.reveal(), "http://… or https://…")
    if parts.query or parts.fragment:
        raise wrong("must not hold a query or fragment")
    return value


def receiver_url(value: Secret) -> Secret:
    """Address of a receiver of notices; user, password, path and query may be its secret."""
    parts = _split(value.reveal(), "http://… or https://…")
    if parts.fragment or "#" in value.reveal():
        raise wrong("must not hold a fragment")
    return value


def database(value: Secret) -> Secret:
    """SQLAlchemy URL of a database the store knows."""
    scheme, separator, rest = value.reveal().partition("://")
    if not separator or scheme not in DATABASE_SCHEMES or not rest:
        raise wrong(f"must be a database URL that begins with {_any(f'{scheme}://' for scheme in DATABASE_SCHEMES)}")
    return value


def database_at(base: Path, value: Secret) -> Secret:
    """Let a relative SQLite path start at `base`, as all other paths of a configuration do."""
    scheme, separator, rest = value.reveal().partition(":///")
    if not separator or not scheme.startswith("sqlite") or rest.startswith(("/", ":memory:")):
        return value
    return Secret(f"{scheme}:///{base / rest}")


def dialect(value: str, info: ValidationInfo) -> str:
    """Dialects must be known, where the validation's context says which are."""
    return _known(value, info.context.dialects) if isinstance(info.context, Known) else value


def scenario(value: str, info: ValidationInfo) -> str:
    """Scenarios must be known, where the validation's context says which are."""
    return _known(value, info.context.scenarios) if isinstance(info.context, Known) else value


def is_plain_http(address: str) -> bool:
    """Tell whether credentials would cross a network unencrypted."""
    parts = urlsplit(address)
    return parts.scheme.lower() == "http" and parts.hostname not in {"localhost", "127.0.0.1", "::1"}


def _split(value: str, form: str) -> SplitResult:
    try:
        parts = urlsplit(value)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or any(character.isspace() or not character.isprintable() for character in value):
        raise wrong(f"must be a URL of the form {form}")
    return parts


def _matching(value: str, pattern: re.Pattern[str], message: str) -> str:
    if not pattern.fullmatch(value):
        raise wrong(message)
    return value


def _known(value: str, names: tuple[str, ...]) -> str:
    if value not in names:
        raise wrong(f"is not known; choose {_any(names)}" if names else "is not known")
    return value


def _any(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
