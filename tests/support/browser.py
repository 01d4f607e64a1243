"""A real browser on our own pages: Debian's chromium, driven by Playwright.

In CI it must be there; elsewhere its absence is a skip that says so.
"""

import contextlib
import dataclasses
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, ConsoleMessage, Page, Request, async_playwright

PHONE, DESK = 360, 1_280
HEIGHT = 800

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

_LAID_OUT_BADLY = """() => {
  const faults = [];
  const told = (element) => element.outerHTML.replace(/\\s+/g, ' ').slice(0, 120);
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push('wider than the window');
  const leaves = [...document.querySelectorAll('body *')].filter((element) =>
    element.checkVisibility({visibilityProperty: true}) && !element.closest('.hidden, .skip, option, .u-over')
    && [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim()));
  const parts = leaves.flatMap((element) => [...element.childNodes]
    .filter((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim())
    .flatMap((node) => {
      const range = document.createRange();
      range.selectNodeContents(node);
      return [...range.getClientRects()].map((area) => ({element, node, area}));
    }));
  for (const {element, area} of parts) {
    const within = element.closest('.wide, .scroll, pre, textarea');
    if (!within && (area.right > root.clientWidth + 1 || area.left < -1)) faults.push('cut off: ' + told(element));
    const isClipped = getComputedStyle(element).overflow === 'hidden' && element.scrollWidth > element.clientWidth + 1;
    if (isClipped) faults.push('clipped: ' + told(element));
  }
  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5;
  for (let i = 0; i < parts.length; i += 1) {
    for (let j = i + 1; j < parts.length; j += 1) {
      if (parts[i].node !== parts[j].node && overlap(parts[i].area, parts[j].area)) {
        faults.push('overlap: ' + told(parts[i].element) + ' and ' + told(parts[j].element));
      }
    }
  }
  return [...new Set(faults)];
}"""
"""What somebody would see who looked: text that is cut off or lies on other text."""


def chromium() -> str:
    """Path of the browser."""
    for name in _NAMES:
        if found := shutil.which(name):
            return found
    message = "no chromium: install the package chromium"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@contextlib.asynccontextmanager
async def a_browser() -> AsyncIterator[Browser]:
    """Start it; it is ended behind the caller."""
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=chromium(), args=list(_FLAGS))
        try:
            yield browser
        finally:
            await browser.close()


@dataclasses.dataclass
class Window:
    """One window on the pages, which notes whatever should not happen in it."""

    page: Page
    address: str
    complaints: list[str] = dataclasses.field(default_factory=list)
    shots: Path | None = None
    """Folder for screenshots; None: none are kept."""

    async def go(self, path: str) -> None:
        """Open a page of ours."""
        await self.page.goto(self.address + path)
        await self.page.wait_for_load_state("load")

    async def log_in(self, token: str) -> None:
        """Enter, by keyboard alone."""
        await self.go("/")
        await self.page.locator("#token").focus()
        await self.page.keyboard.type(token)
        await self.page.keyboard.press("Enter")
        await self.page.wait_for_url("**/ui/")

    async def faults(self, name: str) -> list[str]:
        """All that is wrong with the page as it stands: accessibility (axe-core), layout, complaints so far."""
        if self.shots is not None:
            self.shots.mkdir(parents=True, exist_ok=True)
            await self.page.screenshot(path=self.shots / f"{name}.png", full_page=True)
        found: dict[str, Any] = (await Axe().run(self.page)).response
        unsound = [
            f"{name}: {each['id']} ({each['impact']}): {[node['target'] for node in each['nodes'][:3]]}"
            for each in found["violations"]
        ]
        badly_laid = [f"{name}: {fault}" for fault in await self.page.evaluate(_LAID_OUT_BADLY)]
        return [*unsound, *badly_laid, *(f"{name}: {each}" for each in self.complaints)]


@contextlib.asynccontextmanager
async def a_window(
    browser: Browser, address: str, *, width: int = DESK, has_scripts: bool = True, is_dark: bool = False
) -> AsyncIterator[Window]:
    """Open a window of a fresh profile; screenshots go where `PROBER_TEST_SCREENSHOTS` says."""
    context = await browser.new_context(
        viewport={"width": width, "height": HEIGHT},
        java_script_enabled=has_scripts,
        color_scheme="dark" if is_dark else "light",
    )
    kept = os.environ.get("PROBER_TEST_SCREENSHOTS")
    window = Window(await context.new_page(), address, shots=Path(kept) if kept else None)

    def heard(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            window.complaints.append(f"console: {message.text}")

    def asked(request: Request) -> None:
        if not request.url.startswith((address, "data:")):
            window.complaints.append(f"asked another host: {request.url}")

    window.page.on("console", heard)
    window.page.on("pageerror", lambda error: window.complaints.append(f"script: {error}"))
    window.page.on("request", asked)
    try:
        yield window
    finally:
        await context.close()
