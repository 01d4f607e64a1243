"""Real Chromium on the pages of a real service: a clean, a violated, an inconclusive and an empty target."""

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import expect

from tests.support.alert_chain import a_lab, address_of, configured
from tests.support.browser import DESK, PHONE, Window, a_browser, a_window
from tests.support.command import Workplace
from tests.support.replicas import replica

pytestmark = [pytest.mark.slow, pytest.mark.one_at_a_time, pytest.mark.timeout(600)]

NOWHERE = "http://127.0.0.1:9/v1"
"""Nobody listens on the port of `discard`."""


@dataclasses.dataclass(frozen=True)
class Site:
    """A service whose database holds one run of each target but the empty one."""

    place: Workplace
    address: str
    token: str

    def pages(self) -> dict[str, str]:
        """Every page there is, by name."""
        runs = dict(self.place.rows("SELECT target, run_id FROM runs ORDER BY started_at"))
        query = "SELECT finding_id FROM sightings ORDER BY finding_id DESC LIMIT 1"
        [(leak,)] = self.place.rows(query)
        [(issue,)] = self.place.rows("SELECT id FROM issues WHERE reason = 'foreign_canary'")
        return {
            "overview": "/ui/",
            "runs": "/ui/runs",
            **{f"run-{name}": f"/ui/runs/{run_id}" for name, run_id in runs.items()},
            **{f"target-{name}": f"/ui/targets/{name}" for name in (*runs, "empty")},
            "issues": "/ui/issues",
            "issues-none": "/ui/issues?state=suppressed",
            "issue": f"/ui/issues/{issue}",
            "finding": f"/ui/findings/{leak}",
            "vault": f"/ui/vault/{leak}",
        }


@contextlib.asynccontextmanager
async def a_site(place: Workplace) -> AsyncIterator[Site]:
    """Probe two labs and an address where nobody is, and serve what came of it; the clean lab stays open."""
    assert place.invoke("vault", "key", "new", str(place.folder / "vault.key")).code == 0
    async with a_lab("incident") as leaking, a_lab("fixed") as sound:
        configured(place, "incident", leaking.url, top={"vault": {"key_file": "vault.key"}})
        document = json.loads(place.config.read_text())
        target = document["targets"].pop("hostile")
        urls = {"violated": f"{leaking.url}/v1", "clean": f"{sound.url}/v1", "inconclusive": NOWHERE, "empty": NOWHERE}
        document["targets"] = {name: {**target, "url": url} for name, url in urls.items()}
        document["budgets"] = {"day": {"tokens": 100_000_000}}
        place.config.write_text(json.dumps(document))
        for name, code in (("violated", 1), ("clean", 0), ("inconclusive", 3)):
            finished = await place.invoke_beside("run", "--target", name)
            assert finished.code == code, finished.said
        scopes = [word for scope in ("read", "run", "admin", "vault") for word in ("--scope", scope)]
        made = await place.invoke_beside("token", "create", "--name", "sre", *scopes)
        async with replica(place) as one:
            yield Site(place, await address_of(one), made.stdout.strip())


async def test_every_page_is_sound_on_a_phone_and_on_a_desk(place: Workplace):
    """No console error, no other host, nothing that axe-core objects to, no text cut off or upon other text."""
    async with a_site(place) as site, a_browser() as browser:
        faults = []
        for width, is_dark in ((DESK, False), (PHONE, True)):
            async with a_window(browser, site.address, width=width, is_dark=is_dark) as window:
                await window.go("/")
                faults += await window.faults(f"login-{width}")
                await window.log_in(site.token)
                for name, path in site.pages().items():
                    await window.go(path)
                    faults += await window.faults(f"{name}-{width}")
        assert list(dict.fromkeys(faults)) == []


async def lost(window: Window) -> None:
    """Open a page that there is not; the browser says so in its console, which is no fault of ours."""
    await window.go("/ui/runs/nothing")
    window.complaints.clear()


async def test_an_operator_works_with_the_pages(place: Workplace):
    """Sees the leak's evidence, takes the issue in hand, runs the clean target and follows it to its verdict."""
    async with a_site(place) as site, a_browser() as browser, a_window(browser, site.address) as window:
        page, pages = window.page, site.pages()
        await window.log_in(site.token)
        await expect(page.locator("article", has_text="violated").locator(".verdict").first).to_have_text("VIOLATION")
        await expect(page.locator("article", has_text="empty")).to_contain_text("Never probed")

        await window.go(pages["target-violated"])
        await expect(page.locator(".uplot canvas")).to_be_visible()

        await window.go(pages["finding"])
        await expect(page.locator("main")).to_contain_text("Whose text it was")
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Script that sends the same again").click()
        script = await (await download.value).path()
        assert "Authorization" in await asyncio.to_thread(script.read_text)

        await window.go(pages["issue"])
        await page.get_by_label("Note (may be left out)").first.fill("rolled back")
        await page.get_by_role("button", name="Acknowledge").click()
        await expect(page.locator("main")).to_contain_text("acknowledged, by sre")
        await expect(page.get_by_role("region", name="History")).to_contain_text("rolled back")

        await window.go("/ui/targets/clean")
        await page.get_by_role("button", name="Run now").click()
        await expect(page.locator("h1")).to_contain_text("CLEAN", timeout=60_000)

        await window.go(pages["vault"])
        await page.get_by_label("Why it must be read").fill("INC-4711: whose is it?")
        await page.get_by_role("button", name="Log it and show").click()
        await expect(page.locator("main")).to_contain_text("Logged: read by sre")

        await lost(window)
        await expect(page.locator("h1")).to_have_text("No such run")
        await page.get_by_role("button", name="Log out").click()
        await expect(page.locator("h1")).to_have_text("Log in")
        assert window.complaints == []


async def test_everything_can_be_read_and_sent_without_scripts(place: Workplace):
    """Browsers that run none show every page, and its forms work."""
    async with (
        a_site(place) as site,
        a_browser() as browser,
        a_window(browser, site.address, has_scripts=False) as window,
    ):
        page = window.page
        await window.log_in(site.token)
        for path in site.pages().values():
            await window.go(path)
            assert await page.locator("h1").count() == 1, path
        await window.go("/ui/targets/violated")
        await expect(page.get_by_role("region", name="Limits over time, as a table")).to_contain_text("65,536")
        await window.go("/ui/issues/1")
        await page.get_by_role("button", name="Resolve").click()
        await expect(page.locator("main")).to_contain_text("resolved, by sre")
        assert window.complaints == []
