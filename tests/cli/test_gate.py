"""`prober gate`: in its own process, and at a real service that restarts under it."""

import asyncio
import contextlib
import json
import re
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from prober.cli.exits import Exit
from prober.cli.gate import rollout_facts
from prober.domain.errors import ConfigError
from tests.support.command import Finished, Workplace, finish
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import Peer, answering, hostile, response
from tests.support.replicas import replica, serving

TOKEN = {"PROBER_TOKEN": "iprb_0123456789abcdef_0123456789abcdef"}
FACTS = ("--service", "chat", "--revision", "42", "--image", "registry/chat@sha256:1f", "--fact", "ring=canary")
TOLD = "service chat, revision 42, image registry/chat@sha256:1f, ring canary"


async def here(llm: FakeLlm, place: Workplace, *arguments: str) -> Finished:
    """A gate in its own process."""
    async with hostile(llm.handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1")
        return await place.invoke_beside("gate", *arguments)


async def test_a_healthy_target_passes_and_its_rollout_is_kept(place: Workplace):
    """0, with the facts of the rollout stored with the run and shown."""
    passed = await here(FakeLlm(), place, *FACTS)

    assert passed.code == Exit.CLEAN
    assert " CLEAN  hostile" in passed.stdout
    assert TOLD in passed.said
    ((trigger, facts),) = place.rows("SELECT trigger, facts FROM runs")
    assert trigger == "rollout"
    assert json.loads(facts) == {
        "service": "chat",
        "revision": "42",
        "image": "registry/chat@sha256:1f",
        "ring": "canary",
    }


async def test_a_leak_fails_it_and_every_report_says_so(place: Workplace):
    """1, with reports for the pipeline; standard output holds one of them alone."""
    junit = place.folder / "junit.xml"
    failed = await here(FakeLlm(leaks=True), place, "--report", f"junit={junit}", "--report", "markdown=-", *FACTS)

    assert failed.code == Exit.VIOLATION
    assert failed.stdout.startswith("## ❌ VIOLATION: `hostile`")
    assert " VIOLATION  hostile" in failed.stderr
    assert 'name="rollout.revision" value="42"' in junit.read_text()


async def test_out_of_time_is_3_and_the_run_is_closed(place: Workplace):
    """A target that hangs: the gate ends in time, undecided, and so does the run."""

    async def never(peer: Peer) -> None:
        await peer.read_request()
        await peer.until_closed()

    async with hostile(never) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1", hang_seconds=60, deadline_seconds=120)
        ended = await place.invoke_beside("gate", "--timeout", "2", "--report", f"json={place.folder / 'r.json'}")

    assert ended.code == Exit.UNDECIDED
    assert "no verdict within 2 s" in ended.stdout
    ((outcome, reasons, _),) = place.run_rows()
    assert (outcome, "interrupted" in reasons) == ("inconclusive", True)
    assert json.loads((place.folder / "r.json").read_text())["verdict"]["exit_code"] == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--key", "k"), "give its --url"),
        (("--no-wait",), "give its --url"),
        (("--fact", "x"), "write --fact NAME=VALUE"),
        (("--url", "http://127.0.0.1:9"), "say which target of the service"),
        (("--url", "http://127.0.0.1:9", "--target", "x", "--token-file", "/no/file"), "cannot be read as a token"),
        (("--url", "nowhere", "--target", "x"), "must begin with http"),
        (("--url", "http://127.0.0.1:9", "--target", "x", "--key", "a b"), "--key takes"),
        (("--url", "http://127.0.0.1:9", "--run", "../x"), "--run takes the id"),
        (("--url", "http://127.0.0.1:9", "--target", "x", "--report", "pdf=x"), "no report format"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_sent(arguments: tuple[str, ...], words: str, place: Workplace):
    """2, and a word on what to change."""
    place.configure("http://127.0.0.1:9/v1")
    refused = place.invoke("gate", *arguments, environment=TOKEN)

    assert refused.code == Exit.USAGE
    assert words in refused.said
    assert place.run_rows() == []


def test_a_service_needs_a_token(place: Workplace):
    """It is never an argument."""
    refused = place.invoke("gate", "--url", "http://127.0.0.1:9", "--target", "x")

    assert refused.code == Exit.USAGE
    assert "--token-file FILE or PROBER_TOKEN" in refused.said


def test_facts_are_such_as_the_service_takes():
    """Bounded, printable, each once."""
    assert rollout_facts({"service": None, "image": "a=b"}, ["x=1=2"]) == {"image": "a=b", "x": "1=2"}
    for named, more in (
        ({"image": "a\nb"}, []),
        ({"image": "x" * 257}, []),
        ({"image": "x"}, ["image=y"]),
        ({}, ["-x=1"]),
        ({}, [f"f{number}=1" for number in range(17)]),
    ):
        with pytest.raises(ConfigError):
            rollout_facts(named, more)


async def test_a_service_that_is_not_there_is_3(place: Workplace):
    """In time; never 0."""
    away = await place.invoke_beside(
        "gate", "--url", "http://127.0.0.1:9", "--target", "x", "--timeout", "1", environment=TOKEN
    )

    assert away.code == Exit.UNDECIDED
    assert "could not be reached within 1 s" in away.said


async def test_what_is_no_prober_is_2(place: Workplace):
    """A wrong address is told at once."""
    async with hostile(answering(response("200 OK", b"<html>"))) as server:
        wrong = await place.invoke_beside(
            "gate", "--url", f"http://127.0.0.1:{server.port}", "--target", "x", environment=TOKEN
        )
    assert wrong.code == Exit.USAGE


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def token_of(place: Workplace) -> Path:
    """File with a token for pipelines."""
    made = place.invoke("token", "create", "--name", "ci", "--scope", "run", "--scope", "read")
    file = place.folder / "token"
    file.write_text(made.stdout)
    return file


class Service:
    """A replica of a folder, and gates that ask it."""

    def __init__(self, place: Workplace, url: str, token: Path) -> None:
        self.place = place
        self.arguments = ("gate", "--url", url, "--token-file", str(token))

    async def gate(self, *arguments: str) -> Finished:
        return await self.place.invoke_beside(*self.arguments, *arguments)


@contextlib.asynccontextmanager
async def service(place: Workplace, llm: FakeLlm) -> AsyncIterator[Service]:
    async with hostile(llm.handler()) as server:
        serving(place, f"http://127.0.0.1:{server.port}/v1")
        token = await asyncio.to_thread(token_of, place)
        async with replica(place) as one:
            yield Service(place, (await one.until("serving"))["address"], token)


@pytest.mark.slow
async def test_a_rollout_is_judged_by_the_service(place: Workplace):
    """Verdict with reasons and first steps, rollout, reports, and the exit code; the same key joins the same run."""
    folder = place.folder
    async with service(place, FakeLlm(leaks=True)) as served:
        judged = await served.gate(
            "--target", "hostile", "--key", "build-42", *FACTS, "--timeout", "120",
            "--report", f"junit={folder / 'j.xml'}", "--report", f"sarif={folder / 's.sarif'}",
        )  # fmt: skip
        joined = await served.gate("--target", "hostile", "--key", "build-42", *FACTS, "--report", "json=-")
        started = await served.gate("--target", "hostile", "--no-wait")
        waited = await served.gate("--run", started.stdout.strip())
        refused = await served.gate("--target", "elsewhere")
        reused = await served.gate("--target", "hostile", "--key", "build-42")

    assert judged.code == Exit.VIOLATION
    assert "VIOLATION  hostile: foreign_canary" in judged.stdout
    assert TOLD in judged.said
    assert "foreign_canary: first stop traffic" in judged.said
    assert "<failure" in (folder / "j.xml").read_text()
    assert json.loads((folder / "s.sarif").read_text())["runs"][0]["properties"]["rollout"]["revision"] == "42"
    assert joined.code == Exit.VIOLATION
    assert json.loads(joined.stdout)["run"]["id"] == re.search(r"run (\S+)\n  rollout", judged.stdout)[1]
    assert (started.code, waited.code) == (Exit.CLEAN, Exit.VIOLATION)
    assert (refused.code, reused.code) == (Exit.USAGE, Exit.USAGE)
    assert "is no target of the configuration" in refused.said
    assert len(place.run_rows()) == 2


@pytest.mark.slow
async def test_a_token_that_is_refused_is_3(place: Workplace):
    """Unauthorised is no verdict."""
    async with service(place, FakeLlm()) as served:
        (place.folder / "token").write_text("iprb_wrongwrongwrong12_" + "q" * 52)
        refused = await served.gate("--target", "hostile")

    assert refused.code == Exit.UNDECIDED
    assert "unauthorised: HTTP 401" in refused.said


async def told(process: asyncio.subprocess.Process, words: str) -> str:
    """Read what a process prints, up to a line with these words."""
    assert process.stdout is not None
    said = ""
    async with asyncio.timeout(60):
        while words not in said:
            line = await process.stdout.readline()
            assert line, said
            said += line.decode()
    return said


@pytest.mark.slow
@pytest.mark.one_at_a_time
async def test_a_service_that_is_killed_and_comes_back_costs_nothing(place: Workplace):
    """The gate waits, the run is queued anew under its id, and its verdict is the exit code."""
    llm, port = FakeLlm(leaks=True), free_port()
    held = asyncio.Event()

    async def slow(peer: Peer) -> None:
        if len(llm.prompts) == 3 and not held.is_set():
            held.set()
            await asyncio.sleep(30)
        await llm.handler()(peer)

    async with hostile(slow) as server:
        serving(place, f"http://127.0.0.1:{server.port}/v1", top={"api": {"port": port}})
        token = await asyncio.to_thread(token_of, place)
        async with replica(place) as one:
            arguments = ("--url", f"http://127.0.0.1:{port}", "--token-file", str(token), "--timeout", "150")
            gate = await place.spawn("gate", *arguments, "--target", "hostile", *FACTS)
            await asyncio.wait_for(held.wait(), 60)
            await one.end(signal.SIGKILL)
        said = await told(gate, "waiting for the service")
        async with replica(place):
            ended = await finish(gate, 150)

    assert ended.code == Exit.VIOLATION, said + ended.said
    assert "the service is back" in ended.stdout
    assert "VIOLATION  hostile" in ended.stdout
    assert len(place.run_rows()) == 2
