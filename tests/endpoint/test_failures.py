import asyncio
import inspect
import socket
import ssl
import types

import httpcore
import httpx
import pytest

from prober.domain.observation import FailureKind
from prober.endpoint.failures import Phase, classify_failure

SECRET = "Bearer sk-secret"

EXPECTED = {
    httpx.ConnectError: FailureKind.CONNECT,
    httpx.ConnectTimeout: FailureKind.CONNECT,
    httpx.ReadTimeout: FailureKind.HANG,
    httpx.TimeoutException: FailureKind.HANG,
    httpx.WriteTimeout: FailureKind.WRITE,
    httpx.WriteError: FailureKind.WRITE,
    httpx.ReadError: FailureKind.CLOSED_EARLY,
    httpx.CloseError: FailureKind.CLOSED_EARLY,
    httpx.NetworkError: FailureKind.CLOSED_EARLY,
    httpx.ProxyError: FailureKind.PROXY,
    httpx.RemoteProtocolError: FailureKind.PROTOCOL,
    httpx.DecodingError: FailureKind.PROTOCOL,
    httpx.PoolTimeout: FailureKind.INTERNAL,
    httpx.LocalProtocolError: FailureKind.INTERNAL,
    httpx.ProtocolError: FailureKind.INTERNAL,
    httpx.UnsupportedProtocol: FailureKind.INTERNAL,
    httpx.TransportError: FailureKind.INTERNAL,
    httpx.RequestError: FailureKind.INTERNAL,
    httpx.TooManyRedirects: FailureKind.INTERNAL,
    httpx.HTTPError: FailureKind.INTERNAL,
    httpx.HTTPStatusError: FailureKind.INTERNAL,
    httpx.InvalidURL: FailureKind.INTERNAL,
    httpx.CookieConflict: FailureKind.INTERNAL,
    httpx.StreamError: FailureKind.INTERNAL,
    httpx.StreamConsumed: FailureKind.INTERNAL,
    httpx.StreamClosed: FailureKind.INTERNAL,
    httpx.ResponseNotRead: FailureKind.INTERNAL,
    httpx.RequestNotRead: FailureKind.INTERNAL,
    httpcore.ConnectError: FailureKind.CONNECT,
    httpcore.ConnectTimeout: FailureKind.CONNECT,
    httpcore.ReadTimeout: FailureKind.HANG,
    httpcore.TimeoutException: FailureKind.HANG,
    httpcore.WriteTimeout: FailureKind.WRITE,
    httpcore.WriteError: FailureKind.WRITE,
    httpcore.ReadError: FailureKind.CLOSED_EARLY,
    httpcore.NetworkError: FailureKind.CLOSED_EARLY,
    httpcore.ProxyError: FailureKind.PROXY,
    httpcore.RemoteProtocolError: FailureKind.PROTOCOL,
    httpcore.PoolTimeout: FailureKind.INTERNAL,
    httpcore.LocalProtocolError: FailureKind.INTERNAL,
    httpcore.ProtocolError: FailureKind.INTERNAL,
    httpcore.UnsupportedProtocol: FailureKind.INTERNAL,
    httpcore.ConnectionNotAvailable: FailureKind.INTERNAL,
}


def exceptions_of(module: types.ModuleType):
    return {
        found
        for name, found in inspect.getmembers(module, inspect.isclass)
        if issubclass(found, Exception) and not name.startswith("_")
    }


def make(cls: type[Exception]):
    error = cls.__new__(cls)
    error.args = (SECRET,)
    return error


@pytest.mark.parametrize("module", [httpx, httpcore])
def test_every_exception_of_the_client_has_its_kind(module: types.ModuleType):
    """A new version's new exception fails here, not in production."""
    assert exceptions_of(module) <= EXPECTED.keys()


@pytest.mark.parametrize(("cls", "kind"), EXPECTED.items(), ids=lambda value: getattr(value, "__name__", None))
@pytest.mark.parametrize("phase", Phase)
def test_kind_of_every_exception_without_its_text(cls: type[Exception], kind: FailureKind, phase: Phase):
    """Every class maps to its kind, and its text, which may quote a header, is never shown."""
    found, detail = classify_failure(make(cls), phase, is_proxied=False, is_closed=False)
    assert found is kind
    assert "secret" not in detail
    assert detail


def test_protocol_error_after_the_peers_end_is_an_early_close():
    """What HTTP misses after the peer has closed is no breach of protocol."""
    error = make(httpcore.RemoteProtocolError)
    assert classify_failure(error, Phase.READING, is_proxied=False, is_closed=True) == (
        FailureKind.CLOSED_EARLY,
        "the peer closed the connection within the answer (RemoteProtocolError)",
    )


@pytest.mark.parametrize("cls", [httpcore.ConnectError, httpcore.ReadError, httpcore.RemoteProtocolError])
def test_trouble_before_the_request_behind_a_proxy_is_the_proxys(cls: type[Exception]):
    """Behind a proxy, no connection means no connection from the proxy; after that the target is meant again."""
    error = make(cls)
    assert classify_failure(error, Phase.CONNECTING, is_proxied=True, is_closed=False)[0] is FailureKind.PROXY
    assert classify_failure(error, Phase.READING, is_proxied=True, is_closed=False)[0] is not FailureKind.PROXY


@pytest.mark.parametrize(("text", "shown"), [("407 Secret Words", "407"), ("secret", "unknown"), ("4071", "unknown")])
def test_refused_tunnel_shows_the_status_only(text: str, shown: str):
    """Of a proxy's words only the status is taken."""
    assert classify_failure(httpcore.ProxyError(text), Phase.CONNECTING, is_proxied=True, is_closed=False) == (
        FailureKind.PROXY,
        f"the proxy refused the tunnel (status {shown})",
    )


def caused(error: Exception, cause: BaseException):
    error.__cause__ = cause
    return error


def test_unresolved_name_is_dns():
    """A resolver's error is told apart from a refused connection."""
    error = caused(httpcore.ConnectError(), socket.gaierror(-2, SECRET))
    found, detail = classify_failure(error, Phase.CONNECTING, is_proxied=False, is_closed=False)
    assert (found, detail) == (FailureKind.DNS, "the host name does not resolve")


def test_refused_connection_names_the_system_error():
    """The class of the operating system's error says why."""
    error = caused(httpcore.ConnectError(), ConnectionRefusedError(SECRET))
    found, detail = classify_failure(error, Phase.CONNECTING, is_proxied=False, is_closed=False)
    assert (found, detail) == (FailureKind.CONNECT, "no connection (ConnectionRefusedError)")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (9, "not valid yet"),
        (10, "expired"),
        (18, "self-signed"),
        (20, "not trusted"),
        (62, "another host name"),
        (64, "another address"),
        (77, "does not verify (code 77)"),
    ],
)
def test_certificate_fault_is_named(code: int, words: str):
    """The verify code of OpenSSL, not its text, says what is wrong with a certificate."""
    fault = ssl.SSLCertVerificationError(SECRET)
    fault.verify_code = code
    error = caused(httpcore.ConnectError(), fault)
    found, detail = classify_failure(error, Phase.CONNECTING, is_proxied=True, is_closed=False)
    assert found is FailureKind.TLS
    assert words in detail
    assert "secret" not in detail


@pytest.mark.parametrize(
    ("reason", "shown"),
    [("WRONG_VERSION_NUMBER", "WRONG_VERSION_NUMBER"), (None, "unknown"), ("free text", "unknown")],
)
def test_tls_fault_shows_openssls_reason_code_only(reason: str | None, shown: str):
    """Reason codes are a fixed vocabulary; anything else is not shown."""
    fault = ssl.SSLError(1, SECRET)
    fault.reason = reason
    found, detail = classify_failure(
        caused(httpcore.ReadError(), fault), Phase.WAITING, is_proxied=False, is_closed=False
    )
    assert (found, detail) == (FailureKind.TLS, f"the TLS session failed ({shown})")


@pytest.mark.parametrize("error", [ValueError(SECRET), TimeoutError(SECRET), asyncio.InvalidStateError(SECRET)])
def test_unknown_exception_is_our_own_fault(error: Exception):
    """What no rule knows is INTERNAL, with its class name."""
    assert classify_failure(error, Phase.READING, is_proxied=False, is_closed=True) == (
        FailureKind.INTERNAL,
        type(error).__name__,
    )


def test_cause_that_refers_to_itself_ends():
    """A circular chain of causes does not loop."""
    first, second = ValueError(), KeyError()
    first.__cause__, second.__cause__ = second, first
    assert classify_failure(first, Phase.READING, is_proxied=False, is_closed=False)[0] is FailureKind.INTERNAL
