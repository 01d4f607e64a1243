"""What holds for every page: who may see it, with which headers, and what is told when something goes wrong."""

import hashlib
import re
from pathlib import Path

import pytest
from starlette.routing import Route

from prober.domain.account import Scope
from prober.domain.errors import LedgerError
from prober.service.pages import site
from prober.service.pages.site import _routes
from tests.support.pages import PAGES, Pages, end, found_leak

GETS = [route.path for route in _routes() if isinstance(route, Route) and "GET" in (route.methods or ())]
POSTS = [route.path for route in _routes() if isinstance(route, Route) and "POST" in (route.methods or ())]
OPEN = {"/login", "/static/pictures.css"}
FILLED = {
    "{target}": "staging",
    "{run_id}": "run-1",
    "{format}": "json",
    "{issue_id:int}": "1",
    "{finding_id:int}": "1",
}


def filled(path: str) -> str:
    for hole, value in FILLED.items():
        path = path.replace(hole, value)
    return f"/ui{path}"


def needed(path: str) -> Scope:
    """The scope that a form or page takes."""
    if "/vault/" in path:
        return Scope.VAULT
    if path.endswith(("/run", "/cancel")):
        return Scope.RUN
    return Scope.ADMIN if "/issues/{issue_id:int}/" in path else Scope.READ


@pytest.mark.parametrize("path", sorted(set(GETS) - OPEN))
async def test_nobody_sees_a_page_without_logging_in(path: str, pages: Pages):
    """Who is not logged in is asked to, and brought back."""
    await found_leak(pages)
    async with pages.api.client() as client:
        answered = await client.get(filled(path))
    assert (answered.status_code, answered.text) == (303, "")
    assert answered.headers["location"].startswith("/ui/login?next=%2Fui%2F")


@pytest.mark.parametrize("path", sorted(set(POSTS) - OPEN))
async def test_nobody_sends_a_form_without_logging_in(path: str, pages: Pages):
    """Nothing happens."""
    await found_leak(pages)
    async with pages.api.client() as client:
        answered = await client.post(filled(path), data={"note": "x", "reason": "because", "until": "2026-10-01"})
    assert answered.status_code == 303
    assert await pages.api.queue.listed() == ()
    assert [entry.change.value for entry in await pages.api.desk.issues.history(1)] == ["opened"]


@pytest.mark.parametrize("path", sorted({*GETS, *POSTS} - OPEN - {"/logout"}))
@pytest.mark.parametrize("scope", list(Scope))
async def test_a_scope_permits_its_own_pages_only(path: str, scope: Scope, pages: Pages):
    """None holds another, as over the API; that pages can be seen at all takes `read`."""
    await found_leak(pages)
    visitor = await pages.visitor(Scope.READ, scope)
    methods = {"GET": path in GETS, "POST": path in POSTS}
    for method in (name for name, is_there in methods.items() if is_there):
        if method == "GET":
            answered = await visitor.get(filled(path))
        else:
            answered = await visitor.send(filled(path))
        is_let_in = needed(path) in {scope, Scope.READ}
        assert (answered.status_code == 403) is not is_let_in, (method, answered.text)
        if not is_let_in:
            assert f"scope {needed(path).value}" in answered.text


@pytest.mark.parametrize("path", [*PAGES, "/ui/nothing", "/ui/issues/99"])
async def test_headers_let_a_page_run_nothing_of_others(path: str, pages: Pages):
    """No inline script or style, no other host, no frame around, nothing kept by a cache."""
    await found_leak(pages)
    visitor = await pages.visitor()
    answered = await visitor.get(path)
    policy = answered.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answered.headers["cache-control"] == "no-store"
    assert answered.headers["x-content-type-options"] == "nosniff"
    for inline in ("<style", " style=", " onclick=", "<script>"):
        assert inline not in answered.text


async def test_every_page_of_an_empty_database_says_what_to_do(pages: Pages):
    """Nothing is missing that a page could not do without."""
    visitor = await pages.visitor()
    for path in ("/ui/", "/ui/runs", "/ui/targets/staging", "/ui/issues"):
        answered = await visitor.get(path)
        assert answered.status_code == 200, path
        assert "<main" in answered.text
    assert "prober run --target staging" in (await visitor.get("/ui/")).text


@pytest.mark.parametrize(
    "path",
    [
        "/ui/nothing",
        "/ui/runs/run-9",
        "/ui/runs/%00",
        "/ui/runs/run-1/report/pdf",
        "/ui/targets/nowhere",
        "/ui/issues/99",
        "/ui/issues/99999999999999999999",
        "/ui/findings/99",
        "/ui/vault/99",
        "/ui/issues/1.5",
        "/ui/static/../site.py",
        "/ui/static/%2e%2e/site.py",
    ],
)
async def test_what_is_not_there_is_a_page_too(path: str, pages: Pages):
    """404, in words, whatever was asked for."""
    answered = await (await pages.visitor()).get(path)
    assert answered.status_code == 404
    assert "<h1>No" in answered.text


@pytest.mark.parametrize("path", ["/", "/ui"])
async def test_the_front_door_leads_to_the_overview(path: str, pages: Pages):
    """A bare address works."""
    async with pages.api.client() as client:
        answered = await client.get(path)
    assert (answered.status_code, answered.headers["location"]) == (307, "/ui/")


async def test_a_wrong_method_is_told(pages: Pages):
    """405."""
    async with pages.api.client() as client:
        assert (await client.post("/ui/runs")).status_code == 405


async def test_the_api_is_as_it_was(pages: Pages):
    """Its unknown paths are problems, and its document names no page."""
    async with pages.api.client() as client:
        unknown = await client.get("/api/v1/nothing")
        document = (await client.get("/api/v1/openapi.json")).json()
    assert unknown.headers["content-type"] == "application/problem+json"
    assert [path for path in document["paths"] if "ui" in path.split("/")] == []


async def test_a_database_that_is_away_is_told_and_nothing_else(pages: Pages, monkeypatch: pytest.MonkeyPatch):
    """503 with a time to wait; no exception's text."""
    visitor = await pages.visitor()

    async def away(**_parts: object) -> None:
        raise LedgerError("connection to db.internal as prober refused")

    monkeypatch.setattr(pages.api.desk.issues, "listed", away)
    answered = await visitor.get("/ui/issues")
    assert (answered.status_code, answered.headers["retry-after"]) == (503, "5")
    assert "db.internal" not in answered.text


async def test_a_fault_of_ours_is_counted_and_not_shown(pages: Pages, monkeypatch: pytest.MonkeyPatch):
    """500 in words of ours."""
    visitor = await pages.visitor()

    async def broken(**_parts: object) -> None:
        raise ValueError("customer text")

    monkeypatch.setattr(pages.api.desk.issues, "listed", broken)
    answered = await visitor.get("/ui/issues")
    assert answered.status_code == 500
    assert "customer text" not in answered.text
    assert [(component, type(error)) for component, error in pages.api.faults] == [("api", ValueError)]


async def test_files_may_be_kept_and_pages_not(pages: Pages):
    """Style and scripts hold nothing of anybody."""
    async with pages.api.client() as client:
        for name in ("site.css", "charts.js", "pictures.css", "icon.svg", "vendor/htmx-2.0.11.min.js"):
            answered = await client.get(f"/ui/static/{name}")
            assert answered.status_code == 200
            assert answered.headers["cache-control"] == "public, max-age=3600"


async def test_pages_work_over_postgresql_too(pages_anywhere: Pages):
    """Every page of a leak, under way and ended."""
    run = await found_leak(pages_anywhere)
    visitor = await pages_anywhere.visitor()
    for path in PAGES:
        assert (await visitor.get(path)).status_code == 200, path
    await end(pages_anywhere, run)
    for path in PAGES:
        assert (await visitor.get(path)).status_code == 200, path


def test_vendored_files_are_what_their_list_says():
    """Each by its SHA-256, with its licence beside it; nothing else is there."""
    folder = Path(site.__file__).parent / "static" / "vendor"
    told = (folder / "README.md").read_text()
    sums = dict(re.findall(r"^\| `([^`]+)` \|.*\| `([0-9a-f]{64})` \|$", told, re.MULTILINE))
    licences = re.findall(r"\]\(([^)]+)\)", told)
    assert {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in sums} == sums
    assert {path.name for path in folder.iterdir()} == {*sums, *licences, "README.md"}
