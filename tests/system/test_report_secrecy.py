"""Reports in every format hold no word of an answer and no credential, whatever a remote says in whichever place."""

import dataclasses

import pytest

from prober.report.formats import FORMATS
from tests.support.command import CREDENTIALS, Workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import Peer, hostile
from tests.system.test_secrecy import CALIBRATION_PROBES, ENVIRONMENT, FLAT, REPLIES, SECRETS, configured, leaks
from tests.system.test_vault_secrecy import LEAKS, LeakingLlm

pytestmark = pytest.mark.slow


@dataclasses.dataclass
class Talkative:
    """Calibrates honestly, then gives one hostile reply to everything; another one in the next run."""

    reply: bytes = b""
    llm: FakeLlm = dataclasses.field(default_factory=FakeLlm)
    said: int = 0

    async def __call__(self, peer: Peer) -> None:
        if len(self.llm.prompts) < CALIBRATION_PROBES:
            await self.llm.handler()(peer)
            return
        await peer.read_request()
        await peer.send(self.reply)
        self.said += 1


async def reports(place: Workplace, *arguments: str) -> dict[str, bytes]:
    """All formats of one run, as files and on the terminal."""
    folder = place.folder / "reports"
    folder.mkdir(exist_ok=True)
    wanted = [part for name in FORMATS for part in ("--report", f"{name}={folder / name}")]
    told = await place.invoke_beside(*arguments, *wanted, environment=ENVIRONMENT)
    assert told.code in {1, 3}, told.said
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(files) == set(FORMATS)
    return files | {"stdout": told.stdout.encode(), "stderr": told.stderr.encode()}


async def test_no_word_of_an_answer_and_no_credential_stands_in_any_report(place: Workplace):
    """Content, reasoning, tool calls, ids, model names, headers, error bodies, garbage: fresh and from the database."""
    talkative, found = Talkative(), {}
    async with hostile(talkative) as server:
        for name, reply in REPLIES.items():
            talkative.reply, talkative.llm = reply, FakeLlm()
            configured(place, server.port)
            fresh = await reports(place, "run", "--scenario", "baseline")
            stored = await reports(place, "report")
            found |= {f"{name}, fresh {form}": text for form, text in fresh.items()}
            found |= {f"{name}, stored {form}": text for form, text in stored.items()}

    assert talkative.said >= len(REPLIES)
    assert all(found[f"{name}, fresh html"] for name in REPLIES)
    assert leaks(found) == set()


@pytest.mark.parametrize("form", LEAKS)
async def test_a_leak_is_told_by_our_canaries_alone(form: str, place: Workplace):
    """Real foreign text beside our own decoded one: reports attribute, and quote neither."""
    async with hostile(LeakingLlm(form, place.folder).handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1")
        found = await reports(place, "run")

    assert b"foreign_canary" in found["json"]
    assert leaks(found, SECRETS | {"flat": FLAT}) == set()
    assert not any(key.encode() in text for key in CREDENTIALS.values() for text in found.values())
