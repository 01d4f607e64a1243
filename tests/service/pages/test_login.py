"""Logging in and out."""

import pytest

from prober.domain.account import Scope
from prober.store.sessions import IDLE, LONGEST
from tests.support.pages import Pages, pages_over


async def test_the_cookie_is_of_no_use_to_scripts_and_other_sites(pages: Pages):
    """HttpOnly, SameSite, for the pages only; not the token, and nothing that it could be made from."""
    secret = await pages.api.tokens.create("sre", [Scope.READ])
    async with pages.api.client() as client:
        answered = await client.post("/ui/login", data={"token": f" {secret}\n"})
    cookie = answered.headers["set-cookie"]
    assert {"HttpOnly", "Path=/ui", "SameSite=lax"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert secret.rpartition("_")[2] not in cookie


async def test_behind_tls_the_cookie_goes_over_tls_alone(pages: Pages):
    """As configured: proxies' headers are not believed."""
    secure = pages_over(pages.api.database, pages.api.clock, settings={"pages_over_tls": True})
    secret = await secure.api.tokens.create("sre", [Scope.READ])
    async with secure.api.client() as client:
        answered = await client.post("/ui/login", data={"token": secret})
    assert "Secure" in answered.headers["set-cookie"].split("; ")


@pytest.mark.parametrize("token", ["", "iprb_nothing", "x" * 100_000, "\x00"])
async def test_a_wrong_token_lets_nobody_in(token: str, pages: Pages):
    """And is not shown again."""
    async with pages.api.client() as client:
        answered = await client.post("/ui/login", data={"token": token, "next": "/ui/runs"})
    assert answered.status_code in {401, 413}
    assert "set-cookie" not in answered.headers
    assert "xxxx" not in answered.text


async def test_guessing_is_slowed_down(pages: Pages):
    """As over the API: so many wrong ones per address and minute."""
    allowed = pages.api.desk.settings.failed_logins_per_minute
    async with pages.api.client() as client:
        codes = [(await client.post("/ui/login", data={"token": "wrong"})).status_code for _ in range(allowed + 1)]
    assert codes == [401] * allowed + [429]


async def test_a_token_without_read_is_told_so(pages: Pages):
    """Pages would show it nothing."""
    secret = await pages.api.tokens.create("ci", [Scope.RUN])
    async with pages.api.client() as client:
        answered = await client.post("/ui/login", data={"token": secret})
    assert answered.status_code == 403
    assert "scope read" in answered.text


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ("/ui/issues?state=open", "/ui/issues?state=open"),
        ("", "/ui/"),
        ("https://evil.example/ui/", "/ui/"),
        ("//evil.example/ui/", "/ui/"),
        ("/\\evil.example", "/ui/"),
        ("/ui//evil.example", "/ui/"),
        ("/api/v1/runs", "/ui/"),
        ("javascript:alert(1)", "/ui/"),
        ("/ui/\r\nSet-Cookie: a=b", "/ui/"),
    ],
)
async def test_the_login_leads_to_our_own_pages_alone(wanted: str, place: str, pages: Pages):
    """Nobody can be sent elsewhere by an address that looks like ours."""
    secret = await pages.api.tokens.create("sre", [Scope.READ])
    async with pages.api.client() as client:
        answered = await client.post("/ui/login", data={"token": secret, "next": wanted})
    assert (answered.status_code, answered.headers["location"]) == (303, place)


async def test_who_logs_out_is_out(pages: Pages):
    """The session is gone, not only the cookie."""
    visitor = await pages.visitor()
    cookies = dict(visitor.client.cookies)
    assert (await visitor.send("/ui/logout")).headers["location"] == "/ui/login"
    async with pages.api.client() as client:
        client.cookies.update(cookies)
        assert (await client.get("/ui/")).status_code == 303


async def test_sessions_end(pages: Pages):
    """After a while unused, and after half a day however much they are used."""
    visitor = await pages.visitor()
    pages.api.clock.advance(IDLE.total_seconds() - 1)
    assert (await visitor.get("/ui/")).status_code == 200
    pages.api.clock.advance(IDLE.total_seconds())
    assert (await visitor.get("/ui/")).status_code == 303

    other = await pages.visitor(name="other")
    for _ in range(int(LONGEST / (IDLE / 2)) - 1):
        pages.api.clock.advance(IDLE.total_seconds() / 2)
        assert (await other.get("/ui/")).status_code == 200
    pages.api.clock.advance(IDLE.total_seconds() / 2)
    assert (await other.get("/ui/")).status_code == 303


async def test_a_page_that_refreshes_itself_keeps_nobody_logged_in(pages: Pages):
    """An overview left open is no sign that somebody sits before it."""
    visitor = await pages.visitor()
    for _ in range(2):
        pages.api.clock.advance(IDLE.total_seconds() / 2 - 1)
        assert (await visitor.get("/ui/", headers={"HX-Request": "true"})).status_code == 200
    pages.api.clock.advance(2)
    assert (await visitor.get("/ui/")).status_code == 303


async def test_a_revoked_token_ends_its_sessions_at_once(pages: Pages):
    """Nobody has to wait for a session's end."""
    visitor = await pages.visitor()
    await pages.api.tokens.revoke("sre")
    assert (await visitor.get("/ui/")).status_code == 303


async def test_the_page_asks_for_a_token(pages: Pages):
    """And brings whoever came from elsewhere back."""
    async with pages.api.client() as client:
        answered = await client.get("/ui/login", params={"next": '/ui/runs?target="><script>'})
    assert answered.status_code == 200
    assert 'type="password"' in answered.text
    assert "<script>" not in answered.text
