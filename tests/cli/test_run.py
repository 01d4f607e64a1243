"""Runs, one for each exit code, and what they write where."""

import contextlib
import json
import os

import pytest

from prober.cli.exits import Exit
from tests.support.command import Finished, Workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import Peer, answering, hostile, response


async def run_against(llm: FakeLlm, place: Workplace, *arguments: str, **target: object) -> Finished:
    async with hostile(llm.handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1", **target)
        return await place.invoke_beside("run", *arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--target", "elsewhere"), "no such target; the configuration has hostile"),
        (("run", "--scenario", "nightmare"), "no scenario 'nightmare'; there are: baseline"),
        (("run", "--json", "/no/such/folder/report.json"), "cannot be written"),
        (("run", "--metrics", "/no/such/folder/metrics.prom"), "cannot be written"),
        (("run", "--json", "/"), "cannot be written"),
        (("run", "--json", "x" * 5_000), "cannot be written"),
        (("run", "--config", "/no/such/file.yaml"), "/no/such/file.yaml"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_sent(arguments: tuple[str, ...], words: str, place: Workplace):
    """A run may cost millions of tokens: its inputs and outputs are checked first."""
    place.configure("http://127.0.0.1:9/v1")
    finished = place.invoke(*arguments)

    assert finished.code == Exit.USAGE
    assert words in finished.said
    assert "Traceback" not in finished.said
    assert place.run_rows() == []


def test_of_several_targets_one_must_be_named(place: Workplace):
    """No target is picked by chance."""
    place.configure("http://127.0.0.1:9/v1")
    document = json.loads(place.config.read_text())
    document["targets"]["other"] = document["targets"]["hostile"]
    place.config.write_text(json.dumps(document))
    finished = place.invoke("run")

    assert finished.code == Exit.USAGE
    assert "--target: hostile, other" in finished.said


def test_the_estimate_sends_nothing(place: Workplace):
    """What a run would cost can be asked without a target that answers."""
    place.configure("http://127.0.0.1:9/v1")
    finished = place.invoke("run", "--estimate")

    assert finished.code == 0
    assert "hostile: 14 requests" in finished.stdout
    assert place.run_rows() == []


async def test_a_healthy_target_is_0(place: Workplace):
    """CLEAN, with what stands behind it."""
    finished = await run_against(FakeLlm(), place)

    assert finished.code == Exit.CLEAN
    assert " CLEAN  hostile" in finished.stdout
    assert "smallest prompt rejected" in finished.stdout
    assert [outcome for outcome, _, _ in place.run_rows()] == ["clean"]


async def test_a_suspicious_target_is_3_and_1_where_that_fails_the_pipeline(place: Workplace):
    """`--fail-on suspect` is the caller's choice."""
    lenient = await run_against(FakeLlm(miscounts=True), place, "--scenario", "baseline")
    strict = await run_against(FakeLlm(miscounts=True), place, "--scenario", "baseline", "--fail-on", "suspect")

    assert (lenient.code, strict.code) == (Exit.UNDECIDED, Exit.VIOLATION)
    assert " SUSPECT  hostile: usage_mismatch" in lenient.stdout


async def test_an_undecided_run_is_3_however_strict_the_caller(place: Workplace):
    """What could not be judged is no failure of the target, and never green."""
    async with hostile(answering(response("401 Unauthorized", b"{}"))) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1")
        finished = await place.invoke_beside("run", "--fail-on", "suspect")

    assert finished.code == Exit.UNDECIDED


async def test_a_cap_that_is_too_small_is_3_and_sends_nothing(place: Workplace):
    """`--max-tokens` binds before the first request."""
    llm = FakeLlm()
    finished = await run_against(llm, place, "--max-tokens", "10")

    assert finished.code == Exit.UNDECIDED
    assert "budget_exhausted" in finished.said
    assert llm.prompts == []


async def test_a_database_that_fails_midway_is_4_and_says_so(place: Workplace):
    """Our own failure has its own code and one plain line."""
    llm = FakeLlm()

    async def sabotaging(peer: Peer) -> None:
        if len(llm.prompts) == 3:
            for path in place.folder.glob("prober.db*"):
                path.write_bytes(b"no database" * 1_000)
        await llm.handler()(peer)

    async with hostile(sabotaging) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1")
        finished = await place.invoke_beside("run")

    assert finished.code == Exit.OWN_FAILURE
    assert "The database" in finished.stderr
    assert "Traceback" not in finished.said
    assert len(llm.prompts) <= 5


async def test_a_json_report_on_standard_output_is_nothing_else(place: Workplace):
    """A pipeline can parse standard output whole; everything for people goes to standard error."""
    finished = await run_against(FakeLlm(), place, "--json", "-", "--log-level", "debug")

    report = json.loads(finished.stdout)
    assert report["verdict"]["outcome"] == "clean"
    assert " CLEAN  hostile" in finished.stderr
    assert len(report["probes"]) == len(place.answers())


async def test_reports_and_metrics_go_where_they_are_asked_for(place: Workplace):
    """Files are written whole, beside the console's text."""
    report, metrics = place.folder / "report.json", place.folder / "metrics.prom"
    finished = await run_against(FakeLlm(), place, "--json", str(report), "--metrics", str(metrics))

    assert finished.code == Exit.CLEAN
    assert json.loads(report.read_text())["schema"].startswith("isolation-prober/run-report/")
    assert 'prober_runs_total{outcome="clean",target="hostile",trigger="manual"} 1.0' in metrics.read_text()


async def test_a_report_whose_folder_vanished_is_4_after_the_verdict_was_told(place: Workplace):
    """A full disk at the end costs the file, not the verdict: it was printed, and stands in the database."""
    llm = FakeLlm()
    folder = place.folder / "reports"
    folder.mkdir()

    async def removing(peer: Peer) -> None:
        with contextlib.suppress(FileNotFoundError):
            folder.rmdir()
        await llm.handler()(peer)

    async with hostile(removing) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1")
        finished = await place.invoke_beside("run", "--json", str(folder / "report.json"))

    assert finished.code == Exit.OWN_FAILURE
    assert " CLEAN  hostile" in finished.stdout
    assert "could not be written" in finished.stderr
    assert [outcome for outcome, _, _ in place.run_rows()] == ["clean"]


def test_a_folder_of_others_is_refused_before_sending(monkeypatch: pytest.MonkeyPatch, place: Workplace):
    """Permission is asked for first as well."""
    place.configure("http://127.0.0.1:9/v1")
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)

    assert place.invoke("run", "--json", str(place.folder / "report.json")).code == Exit.USAGE
    assert place.run_rows() == []


async def test_the_runs_course_is_logged_only_when_asked_for(place: Workplace):
    """A leak is told once, in words; whoever wants it as log lines too says so."""
    told = await run_against(FakeLlm(leaks=True), place)
    logged = await run_against(FakeLlm(leaks=True), place, "--log-level", "error")

    assert told.code == logged.code == Exit.VIOLATION
    assert "VIOLATION  seed_and_probe/" in told.stdout
    assert told.stderr == ""
    assert "probe_judged" in logged.stderr
    assert "run_ended" in logged.stderr


async def test_metrics_of_a_run_are_its_targets_own(place: Workplace):
    """One run does not reset what another target's run wrote for the collector."""
    metrics = place.folder / "metrics.prom"
    async with hostile(FakeLlm().handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1")
        document = json.loads(place.config.read_text())
        document["targets"]["other"] = document["targets"]["hostile"]
        place.config.write_text(json.dumps(document))
        finished = await place.invoke_beside(
            "run", "--target", "hostile", "--scenario", "baseline", "--metrics", str(metrics)
        )

    assert finished.code == Exit.CLEAN
    assert 'target="hostile"' in metrics.read_text()
    assert 'target="other"' not in metrics.read_text()
