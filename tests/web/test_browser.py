"""What the walk over the pages looks for is found where it is there."""

import pytest

from tests.support.browser import DESK, a_browser, a_window

pytestmark = [pytest.mark.slow, pytest.mark.one_at_a_time]

SOUND = "<!DOCTYPE html><html lang='en'><title>T</title><main><h1>All is well</h1>{}</main></html>"
FAULTS = {
    "": "",
    "<p style='position:absolute;top:30px;left:8px'>upon it</p>": "overlap",
    "<p style='white-space:nowrap'>" + "wide " * 500 + "</p>": "cut off",
    "<p style='position:absolute;left:-40px'>too far</p>": "cut off",
    "<p style='width:40px;overflow:hidden;white-space:nowrap'>not all of this</p>": "clipped",
    "<input>": "label (critical)",
    "<p style='color:#ccc'>hardly to be seen</p>": "color-contrast (serious)",
    "<script>console.error('oh')</script>": "console: oh",
    "<script>nothing()</script>": "script: ",
    "<img alt='' src='http://127.0.0.1:9/x.png'>": "asked another host",
}


async def test_the_walk_sees_what_is_wrong():
    """Each fault by its name, and none on a sound page."""
    async with a_browser() as browser:
        for content, fault in FAULTS.items():
            async with a_window(browser, "http://127.0.0.1:1", width=DESK) as window:
                await window.page.set_content(SOUND.format(content), wait_until="load")
                found = await window.faults("page")
            assert any(fault in each for each in found) if fault else found == [], (content, found)
