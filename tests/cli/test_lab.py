"""Serving the lab."""

import asyncio
import json
import signal
from pathlib import Path

import httpx
import pytest

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
