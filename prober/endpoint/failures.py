"""What went wrong on the wire, as data: every exception of the HTTP client has its kind."""

import enum
import re
import socket
import ssl
from collections.abc import Iterator

import httpcore
import httpx

from prober.domain.observation import FailureKind


class Phase(enum.Enum):
    """How far a request got."""

    CONNECTING = "connecting"
    SENDING = "sending"
    WAITING = "waiting"
    """The request is out, no header came."""
    READING = "reading"


# Most specific class first: the first that fits decides.
_KINDS: tuple[tuple[tuple[type[BaseException], ...], FailureKind], ...] = (
    ((httpx.ProxyError, httpcore.ProxyError), FailureKind.PROXY),
    ((httpx.ConnectError, httpcore.ConnectError, httpx.ConnectTimeout, httpcore.ConnectTimeout), FailureKind.CONNECT),
    ((httpx.WriteError, httpcore.WriteError, httpx.WriteTimeout, httpcore.WriteTimeout), FailureKind.WRITE),
    ((httpx.ReadTimeout, httpcore.ReadTimeout), FailureKind.HANG),
    ((httpx.PoolTimeout, httpcore.PoolTimeout), FailureKind.INTERNAL),
    ((httpx.TimeoutException, httpcore.TimeoutException), FailureKind.HANG),
    ((httpx.NetworkError, httpcore.NetworkError), FailureKind.CLOSED_EARLY),
    ((httpx.RemoteProtocolError, httpcore.RemoteProtocolError, httpx.DecodingError), FailureKind.PROTOCOL),
)

_CERTIFICATE_FAULTS = {
    9: "the certificate is not valid yet",
    10: "the certificate has expired",
    18: "the certificate is self-signed",
    19: "a self-signed certificate stands in the chain",
    20: "the certificate's issuer is not trusted",
    21: "the certificate's issuer is not trusted",
    23: "the certificate was revoked",
    62: "the certificate is for another host name",
    64: "the certificate is for another address",
}
"""By OpenSSL's verify codes (x509_vfy.h)."""

_OPENSSL_REASON = re.compile(r"[A-Z0-9_]{1,60}")


_STATUS = re.compile(r"[1-5][0-9]{2}\b")


def classify_failure(
    error: BaseException, phase: Phase, *, is_proxied: bool, is_closed: bool
) -> tuple[FailureKind, str]:
    """Kind and detail of an exception; the detail holds our words and class names, never the exception's text.

    `is_closed`: the peer had ended the connection, so what HTTP misses is not a breach of protocol. What goes wrong
    on the way through a proxy before the request is PROXY. An exception that no rule knows is our own fault: INTERNAL.
    """
    chain = tuple(_chain(error))
    for link in chain:
        if isinstance(link, ssl.SSLError):
            return FailureKind.TLS, _tls_detail(link)
    kind = _kind(error)
    if kind is FailureKind.PROTOCOL and is_closed:
        kind = FailureKind.CLOSED_EARLY
    if is_proxied and phase is Phase.CONNECTING and kind in _BEFORE_THE_REQUEST:
        return FailureKind.PROXY, f"the proxy gave no connection ({_cause_name(chain)})"
    if any(isinstance(link, socket.gaierror) for link in chain):
        return FailureKind.DNS, "the host name does not resolve"
    return kind, _detail(kind, phase, chain)


_BEFORE_THE_REQUEST = frozenset({FailureKind.CONNECT, FailureKind.CLOSED_EARLY, FailureKind.PROTOCOL})


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _kind(error: BaseException) -> FailureKind:
    for classes, kind in _KINDS:
        if isinstance(error, classes):
            return kind
    return FailureKind.INTERNAL


def _tls_detail(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        fault = _CERTIFICATE_FAULTS.get(error.verify_code)
        return fault or f"the certificate does not verify (code {error.verify_code})"
    reason = _OPENSSL_REASON.fullmatch(str(error.reason))
    return f"the TLS session failed ({reason.group() if reason else 'unknown'})"


def _closed_detail(phase: Phase) -> str:
    if phase is Phase.READING:
        return "the peer closed the connection within the answer"
    return "the peer closed the connection without an answer"


def _detail(kind: FailureKind, phase: Phase, chain: tuple[BaseException, ...]) -> str:
    match kind:
        case FailureKind.PROXY:
            # httpcore begins the text with the status, then the proxy's own words: the digits are all we take.
            status = _STATUS.match(str(chain[0]))
            return f"the proxy refused the tunnel (status {status.group() if status else 'unknown'})"
        case FailureKind.CONNECT:
            return f"no connection ({_cause_name(chain)})"
        case FailureKind.WRITE:
            return f"the request could not be written ({_cause_name(chain)})"
        case FailureKind.CLOSED_EARLY:
            return f"{_closed_detail(phase)} ({_cause_name(chain)})"
        case FailureKind.PROTOCOL:
            return "the answer is no valid HTTP/1.1"
        case _:
            return type(chain[0]).__name__


def _cause_name(chain: tuple[BaseException, ...]) -> str:
    """Class name of the first operating system error, else of the last link: class names say what happened."""
    return next((type(link).__name__ for link in chain if isinstance(link, OSError)), type(chain[-1]).__name__)
