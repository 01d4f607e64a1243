"""A plain HTTP client for receivers of notices: one POST, no redirect, no retry, everything bounded."""

import asyncio
import dataclasses
import datetime as dt
import email.utils
from collections.abc import Mapping

import httpcore
import httpx

from prober import __version__
from prober.domain.errors import ConfigError
from prober.endpoint.connection import Connections
from prober.endpoint.failures import Phase, classify_failure
from prober.endpoint.settings import ConnectionSettings

USER_AGENT = f"isolation-prober/{__version__}"
MAX_ANSWER_BYTES = 16 * 1024

_EXPECTED = (httpx.HTTPError, httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlainAnswer:
    """What came back, as data."""

    status: int | None
    """None: no answer at all."""
    fault: str = ""
    """Why there is no answer, in our words; no address in it."""
    retry_after: float | None = None
    """Seconds that the peer asks us to wait."""
    body: bytes = dataclasses.field(default=b"", repr=False)
    """The first 16 KiB."""


class PlainClient:
    """Posts to one address, which may hold a secret and is never shown. Satisfies `notify.ports.HttpClient`."""

    def __init__(self, url: str, *, ca_file: str | None = None, deadline_seconds: float = 10.0) -> None:
        """Read certificates; nothing is sent yet.

        Args:
            url: http(s) address; path and query may hold a secret.
            ca_file: PEM file that replaces the public authorities.
            deadline_seconds: for all of one POST.

        Raises:
            ConfigError: an address or certificate that cannot be used.
        """
        try:
            self._url = httpx.URL(url)
        except (httpx.InvalidURL, TypeError):
            raise ConfigError("a receiver's url is no URL") from None
        origin = f"{self._url.scheme}://{self._url.netloc.decode('ascii', 'replace')}"
        self._connections = Connections(ConnectionSettings(base_url=origin, ca_file=ca_file))
        self._deadline = deadline_seconds

    def __repr__(self) -> str:
        """Nothing: the address may be a secret."""
        return "PlainClient()"

    async def post(self, headers: Mapping[str, str], body: bytes) -> PlainAnswer:
        """Post once over a connection of its own. What the peer does is data; it never raises for that."""
        phase = Phase.CONNECTING
        try:
            async with asyncio.timeout(self._deadline), self._connections.fresh() as lease:
                request = lease.client.build_request(
                    "POST",
                    self._url,
                    content=body,
                    headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity", **headers},
                )
                response = await lease.client.send(request, stream=True)
                phase = Phase.READING
                try:
                    answer = await _first_bytes(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            return PlainAnswer(status=None, fault=f"no answer within {self._deadline:g} s")
        except _EXPECTED as error:
            _, detail = classify_failure(error, phase, is_proxied=False, is_closed=False)
            return PlainAnswer(status=None, fault=detail)
        return PlainAnswer(
            status=response.status_code, retry_after=_seconds(response.headers.get("retry-after")), body=answer
        )


async def _first_bytes(response: httpx.Response) -> bytes:
    """Read the beginning; the rest of a long answer, and its encoding, are nobody's concern."""
    taken = b""
    async for chunk in response.aiter_raw():
        taken += chunk
        if len(taken) >= MAX_ANSWER_BYTES:
            break
    return taken[:MAX_ANSWER_BYTES]


def _seconds(retry_after: str | None) -> float | None:
    """Read `Retry-After`: seconds, or a date (RFC 9110, section 10.2.3)."""
    if retry_after is None:
        return None
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after[:9])
    try:
        date = email.utils.parsedate_to_datetime(retry_after)
    except (ValueError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=dt.UTC)
    return max(0.0, (date - dt.datetime.now(dt.UTC)).total_seconds())
