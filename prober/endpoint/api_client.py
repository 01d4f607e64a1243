"""A client of a prober's own HTTP API, for pipelines: no redirect, no retry, everything bounded."""

import asyncio
import dataclasses
import json
from collections.abc import Mapping

import httpcore
import httpx

from prober import __version__
from prober.domain.errors import ConfigError
from prober.endpoint.connection import Connections
from prober.endpoint.failures import Phase, classify_failure
from prober.endpoint.settings import ConnectionSettings

USER_AGENT = f"isolation-prober-gate/{__version__}"
MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""A report of some ten thousand requests has a few megabytes."""

_EXPECTED = (httpx.HTTPError, httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ApiAnswer:
    """What came back, as data."""

    status: int | None
    """None: no answer at all."""
    fault: str = ""
    """Why there is no answer, in our words; no address in it."""
    retry_after: float | None = None
    """Seconds that the service asks us to wait."""
    body: bytes = dataclasses.field(default=b"", repr=False)

    def document(self) -> Mapping[str, object]:
        """The body as a JSON object; empty where it is none."""
        try:
            decoded = json.loads(self.body)
        except ValueError:
            return {}
        return decoded if isinstance(decoded, dict) else {}


class ApiClient:
    """Asks one service with one token, neither of which it shows."""

    def __init__(self, url: str, token: str, *, ca_file: str | None = None, deadline_seconds: float = 10.0) -> None:
        """Read certificates; nothing is sent yet.

        Args:
            url: http(s) address of the service, without `/api/v1`.
            token: an API token's secret.
            ca_file: PEM file that replaces the public authorities.
            deadline_seconds: for all of one request.

        Raises:
            ConfigError: an address, token or certificate that cannot be used.
        """
        try:
            self._url = httpx.URL(url)
        except (httpx.InvalidURL, TypeError):
            raise ConfigError("the service's address is no URL") from None
        if self._url.scheme not in {"http", "https"} or not self._url.host:
            raise ConfigError("the service's address must begin with http:// or https://")
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise ConfigError("the token is none: it must be printable ASCII without spaces")
        self._token = token
        origin = f"{self._url.scheme}://{self._url.netloc.decode('ascii', 'replace')}"
        self._connections = Connections(ConnectionSettings(base_url=origin, ca_file=ca_file))
        self._deadline = deadline_seconds

    def __repr__(self) -> str:
        """Nothing: the token is a secret, and the address may hold one."""
        return "ApiClient()"

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        document: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ApiAnswer:
        """Ask once over a connection of its own. What the service does is data; it never raises for that."""
        phase = Phase.CONNECTING
        url = self._url.copy_with(path=self._url.path.rstrip("/") + path, query=None)
        try:
            async with asyncio.timeout(self._deadline), self._connections.fresh() as lease:
                request = lease.client.build_request(
                    method,
                    url,
                    params=query,
                    json=document,
                    headers={
                        "Authorization": f"Bearer {self._token}",
                        "User-Agent": USER_AGENT,
                        "Accept-Encoding": "identity",
                        **(headers or {}),
                    },
                )
                response = await lease.client.send(request, stream=True)
                phase = Phase.READING
                try:
                    body = await _body(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            return ApiAnswer(status=None, fault=f"no answer within {self._deadline:g} s")
        except _EXPECTED as error:
            _, detail = classify_failure(error, phase, is_proxied=False, is_closed=False)
            return ApiAnswer(status=None, fault=detail)
        if body is None:
            return ApiAnswer(status=None, fault=f"an answer of more than {MAX_ANSWER_BYTES:,} bytes")
        return ApiAnswer(
            status=response.status_code, retry_after=_seconds(response.headers.get("retry-after")), body=body
        )


async def _body(response: httpx.Response) -> bytes | None:
    """All of it; None where it is too much."""
    taken, size = [], 0
    async for chunk in response.aiter_raw():
        taken.append(chunk)
        size += len(chunk)
        if size > MAX_ANSWER_BYTES:
            return None
    return b"".join(taken)


def _seconds(retry_after: str | None) -> float | None:
    """Read `Retry-After` in seconds, as the service writes it; a date is a proxy's, and not worth a clock."""
    is_number = retry_after is not None and retry_after.isascii() and retry_after.isdigit()
    return float(str(retry_after)[:9]) if is_number else None
