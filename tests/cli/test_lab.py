"""Serving the lab."""

import asyncio
import json
import signal
from pathlib import Path

import httpx
import pytest

from prober.lab.faults import FAULTS, known_fixes
from prober.lab.scenes import SCENES
from tests.support.command import Workplace, finish, invoke


@pytest.mark.parametrize("content", ["no json", "[]", "{}", '{"key": 1}', '{"": "alpha"}', None])
def test_a_key_file_that_is_none_is_2(content: str | None, tmp_path: Path):
    """Wrong keys are told by the file's name and never echoed."""
    file = tmp_path / "keys.json"
    if content is not None:
        file.write_text(content)
    finished = invoke("lab", "serve", "--keys", str(file))

    assert finished.code == 2
    assert "keys.json" in finished.stderr
    assert "alpha" not in finished.said


def test_an_address_for_everyone_must_be_meant():
    """The lab leaks on purpose: it binds beyond loopback only when told so, by the option that the message names."""
    finished = invoke("lab", "serve", "--host", "0.0.0.0", "--port", "0")

    assert finished.code == 2
    assert "--allow-remote" in finished.said


async def test_the_first_line_is_the_address_and_an_interrupt_ends_it(place: Workplace):
    """A script can start the lab, find it, use it with the documented keys, and stop it."""
    process = await place.spawn("lab", "serve", "--scene", "fixed", "--port", "0")
    assert process.stdout is not None
    url = json.loads(await asyncio.wait_for(process.stdout.readline(), 60))["url"]
    async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
        answer = await client.get(f"{url}/v1/models", headers={"authorization": "Bearer lab-key-alpha"})
    process.send_signal(signal.SIGINT)
    finished = await finish(process)

    assert answer.status_code == 200
    assert finished.code in {0, 130}
    assert "Traceback" not in finished.said


def test_every_scene_can_be_read_off_the_help_of_a_small_terminal():
    """A name that is cut short cannot be typed."""
    help_text = invoke("lab", "serve", "--help", environment={"COLUMNS": "80"}).stdout
    words = set(help_text.replace(",", " ").replace(". ", " ").split())

    assert [scene for scene in SCENES if scene not in words] == []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--fault", "no_such"), [*FAULTS]),
        (("--fault", "stale_mask", "--fault", "other=0.5"), [*FAULTS]),
        (("--fix", "no_such"), sorted(known_fixes())),
        (("--scene", "nowhere"), [*SCENES]),
        (("--fault", "stale_mask=often"), ["stale_mask", "above 0 and at most 1"]),
        (("--fault", "stale_mask="), ["stale_mask", "above 0 and at most 1"]),
        (("--fault", "stale_mask=0"), ["stale_mask", "above 0 and at most 1"]),
        (("--fault", "stale_mask=1.5"), ["stale_mask", "above 0 and at most 1"]),
        (("--fault", "stale_mask=nan"), ["stale_mask", "above 0 and at most 1"]),
    ],
)
def test_names_and_rates_that_there_are_not_are_told_with_what_there_is(arguments: tuple[str, ...], named: list[str]):
    """Nothing is served, and the message lists what could have been meant."""
    finished = invoke("lab", "serve", "--port", "0", *arguments)

    assert finished.code == 2
    assert [name for name in named if name not in finished.said] == []


async def spoken_of(place: Workplace, *arguments: str) -> tuple[str, dict[str, int]]:
    """Serve a lab, ask it two things; the second answer, and what the lab counts."""
    process = await place.spawn("lab", "serve", "--port", "0", *arguments)
    assert process.stdout is not None
    url = json.loads(await asyncio.wait_for(process.stdout.readline(), 60))["url"]
    messages = [{"role": "user", "content": "Nothing to do."}]
    key = {"authorization": "Bearer lab-key-alpha"}
    async with httpx.AsyncClient(trust_env=False, timeout=20, headers=key) as client:
        bias = {"logit_bias": {"1000": 100}, "max_tokens": 4}
        for extra in (bias, {"max_tokens": 6}):
            answer = await client.post(f"{url}/v1/chat/completions", json={"messages": messages, **extra})
        records = (await client.get(f"{url}/lab/records")).json()
    process.send_signal(signal.SIGINT)
    await finish(process)
    return answer.json()["choices"][0]["message"]["content"], records["counters"]


async def test_a_fault_is_served_in_the_scene_that_it_needs_and_a_fix_unmakes_it(place: Workplace):
    """Somebody else's favoured word comes out with the fault, and strikes are counted; with its fix nothing does."""
    bent, struck = await spoken_of(place, "--fault", "stale_bias")
    sound, unstruck = await spoken_of(place, "--fault", "stale_bias=1", "--fix", "move_bias_with_row")

    assert len(set(bent.split())) == 1
    assert struck["fault_stale_bias"] == 1
    assert bent.split()[0] not in sound.split()
    assert unstruck.get("fault_stale_bias", 0) == 0
