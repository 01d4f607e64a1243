"""Headers of a request."""

import pytest

from prober.domain.errors import ConfigError
from prober.domain.options import PLAIN, RequestOptions
from prober.endpoint.request_headers import request_headers
from prober.endpoint.settings import ConnectionSettings

URL = "http://127.0.0.1:1/v1"


def headers(options: RequestOptions = PLAIN, *, secret: str = "sk-1", stream: bool = True, **settings: object):  # noqa: S107
    connection = ConnectionSettings(base_url=URL, **settings)
    return request_headers(connection, options, secret=secret, request_id="r-1", stream=stream)


def test_headers_of_a_plain_probe():
    """Own names, the tenant's credential, and no affinity key that was not asked for."""
    found = headers(user_agent="me/1", extra_headers={"X-Edge": "on"})
    assert found == {
        "X-Edge": "on",
        "Accept": "text/event-stream",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "User-Agent": "me/1",
        "X-Request-Id": "r-1",
        "authorization": "Bearer sk-1",
    }
    assert headers(stream=False)["Accept"] == "application/json"
    assert "authorization" not in headers(secret="")


def test_an_affinity_key_goes_where_the_settings_say():
    """By default in Workers AI's header, else in the one configured; instead of the operator's of that name."""
    session = RequestOptions(session="s-1")
    assert headers(session)["x-session-affinity"] == "s-1"
    assert headers(session, session_header="X-Sticky")["X-Sticky"] == "s-1"
    extra = {"X-Session-Affinity": "the operator's", "X-Edge": "on"}
    found = headers(session, extra_headers=extra)
    assert [value for name, value in found.items() if name.lower() == "x-session-affinity"] == ["s-1"]
    assert found["X-Edge"] == "on"
    assert headers(extra_headers=extra)["X-Session-Affinity"] == "the operator's"


@pytest.mark.parametrize("value", ["two\r\nlines", " s3cret", "schlüssel"])
def test_what_no_header_can_carry_is_refused_unseen(value: str):
    """An affinity key or request id that cannot be sent is our own fault, told by the header's name only."""
    with pytest.raises(ConfigError, match="x-session-affinity") as caught:
        headers(RequestOptions(session=value))
    assert value.strip() not in str(caught.value)
    with pytest.raises(ConfigError, match="X-Request-Id"):
        request_headers(ConnectionSettings(base_url=URL), PLAIN, secret="", request_id=value, stream=True)
