"""`prober notify`."""

import json

from prober.cli.exits import Exit
from tests.support.command import Finished, Workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import hostile
from tests.support.receiving import receiving
from tests.wiring.test_notifications import told

SECRET = "planted-hmac-secret"


def with_siem(place: Workplace, url: str) -> Workplace:
    return told(place, siem={"kind": "webhook", "url": url, "secret": SECRET})


async def tried(place: Workplace, *script: str | int) -> Finished:
    place.configure("http://127.0.0.1:9/v1")
    async with receiving(*script) as siem:
        with_siem(place, siem.url)
        return await place.invoke_beside("notify", "test", "siem")


async def test_a_receiver_that_takes_the_test_is_0(place: Workplace):
    """Status and the beginning of what it said are printed."""
    finished = await tried(place)

    assert finished.code == 0
    assert finished.stdout.splitlines() == ["siem: taken (HTTP 200)", "it said: said"]


async def test_a_receiver_that_does_not_is_3(place: Workplace):
    """Neither secret nor address is printed, whatever came back."""
    finished = await tried(place, 403)

    assert finished.code == Exit.UNDECIDED
    assert "siem: later (HTTP 403)" in finished.stdout
    assert SECRET not in finished.said.replace("plain text", "")
    assert "127.0.0.1" not in finished.stdout


def test_an_unknown_receiver_is_2(place: Workplace):
    """Those that there are, are listed."""
    place.configure("http://127.0.0.1:9/v1")
    finished = place.invoke("notify", "test", "siem")

    assert finished.code == Exit.USAGE
    assert "no such receiver; the configuration has: none" in finished.stderr


async def test_what_waits_is_sent_once_without_a_service(place: Workplace):
    """After a run: everything arrives; a second time there is nothing left; 3 while something waits."""
    async with hostile(FakeLlm(leaks=True).handler()) as server, receiving(503) as siem:
        place.configure(f"http://127.0.0.1:{server.port}/v1")
        with_siem(place, siem.url)
        await place.invoke_beside("run")
        (waiting,) = place.rows("SELECT COUNT(*) FROM notices")[0]
        failed = await place.invoke_beside("notify", "send")
        place.change("UPDATE receivers SET paused_until = NULL")
        sent = await place.invoke_beside("notify", "send")
        again = await place.invoke_beside("notify", "send", "--log-format", "json")

    assert waiting > 0
    assert (failed.code, f"siem: {waiting} waiting, 0 given up" in failed.stdout) == (Exit.UNDECIDED, True)
    assert (sent.code, sent.stdout.splitlines()[0]) == (0, f"{waiting} notices sent")
    assert (again.code, again.stdout.splitlines()[0]) == (0, "0 notices sent")
    assert len(siem.events) == waiting
    assert "foreign_canary" in json.dumps(siem.taken)
