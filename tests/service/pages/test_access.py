"""Forms are taken from our own pages, of this very session."""

import pytest

from prober.domain.account import Scope
from prober.service.pages.access import Visitor as LoggedIn
from prober.service.pages.access import named
from tests.support.pages import Pages, found_leak

NOTE = "/ui/issues/1/note"


@pytest.mark.parametrize("csrf", ["", "0" * 64, "ä", "x" * 5_000])
async def test_a_form_without_this_sessions_mark_is_refused(csrf: str, pages: Pages):
    """Another site cannot know it."""
    await found_leak(pages)
    visitor = await pages.visitor()
    answered = await visitor.client.post(NOTE, data={"csrf": csrf, "note": "x"})
    assert answered.status_code == 403
    assert len(await pages.api.desk.issues.history(1)) == 1


async def test_the_mark_of_another_session_is_not_this_ones(pages: Pages):
    """Who has one of their own cannot use it on somebody else."""
    await found_leak(pages)
    visitor, other = await pages.visitor(), await pages.visitor(name="other")
    assert visitor.csrf != other.csrf
    assert (await visitor.client.post(NOTE, data={"csrf": other.csrf, "note": "x"})).status_code == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://prober.test"}, 303),
        ({"Sec-Fetch-Site": "none"}, 303),
        ({}, 303),
    ],
)
async def test_a_form_of_another_site_is_refused(headers: dict[str, str], status: int, pages: Pages):
    """Even with the right mark; browsers that say nothing of it are held to the mark alone."""
    await found_leak(pages)
    visitor = await pages.visitor()
    answered = await visitor.client.post(NOTE, data={"csrf": visitor.csrf, "note": "x"}, headers=headers)
    assert answered.status_code == status


@pytest.mark.parametrize("body", [b"\xff\xfe", b"&".join(b"a=b" for _ in range(100))])
async def test_what_is_no_form_is_refused(body: bytes, pages: Pages):
    """In words, without a fault of ours."""
    visitor = await pages.visitor()
    answered = await visitor.client.post(NOTE, content=body)
    assert answered.status_code == 422
    assert pages.api.faults == []


async def test_pages_count_against_the_tokens_rate(pages: Pages):
    """Together with the API's requests: a token has one rate, whichever door it comes by."""
    visitor, allowed = await pages.visitor(), pages.api.desk.settings.requests_per_minute
    codes = {(await visitor.get("/ui/runs")).status_code for _ in range(allowed)}
    assert codes == {200, 429}

    secret = await pages.api.tokens.create("both", list(Scope))
    async with pages.api.client(secret) as client:
        assert (await client.post("/ui/login", data={"token": secret})).status_code == 303
        for _ in range(allowed):
            await client.get("/api/v1/runs")
        assert (await client.get("/ui/runs")).status_code == 429


async def test_what_refreshes_itself_is_led_to_the_login_as_a_whole(pages: Pages):
    """A login page within a table would be of no use."""
    async with pages.api.client() as client:
        headers = {"HX-Request": "true", "HX-Current-URL": "http://prober.test/ui/runs/run-1"}
        answered = await client.get("/ui/runs/run-1/progress", headers=headers)
    assert (answered.status_code, answered.headers["hx-redirect"]) == (200, "/ui/login?next=%2Fui%2Fruns%2Frun-1")


async def test_a_sessions_secret_is_not_shown(pages: Pages):
    """Whatever prints it."""
    visitor = await pages.visitor()
    secret = visitor.client.cookies["prober_session"]
    session = await pages.ports.sessions.find(secret)
    assert session is not None
    assert secret not in repr(LoggedIn(session, secret))


@pytest.mark.parametrize(
    ("value", "name"), [("run-1", "run-1"), ("", None), (None, None), ("a/b", None), ("\x00", None), ("x" * 65, None)]
)
def test_only_what_can_be_a_name_is_looked_up(value: str | None, name: str | None):
    """No database is asked for what it could not even store."""
    assert named(value) == name
