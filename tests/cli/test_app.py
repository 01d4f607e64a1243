"""The command as its callers meet it: verbs, bad input, exit codes."""

import asyncio
import contextlib
import json
import os
import signal
from pathlib import Path

import pytest

from prober import __version__
from prober.cli.exits import Exit
from prober.domain.outcome import Outcome
from prober.wiring.prober import Prober
from tests.support.command import Finished, Workplace, finish, invoke
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import Peer, answering, hostile, response, stalling


async def run_against(llm: FakeLlm, place: Workplace, *arguments: str, **target: object) -> Finished:
    async with hostile(llm.handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1", **target)
        return await place.invoke_beside("run", *arguments)


# Verbs that send nothing.


@pytest.mark.parametrize("option", ["--version"])
def test_the_version_is_told(option: str):
    """What is installed can be asked for."""
    finished = invoke(option)

    assert (finished.code, finished.stdout) == (0, f"isolation-prober {__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        *((verb, "--help") for verb in ("run", "demo", "validate", "selftest", "key", "findings", "db", "lab")),
        ("lab", "serve", "--help"),
        ("findings", "list", "--help"),
    ],
    ids=" ".join,
)
def test_every_verb_explains_itself(arguments: tuple[str, ...]):
    """Help is there for each verb and ends well."""
    finished = invoke(*arguments)

    assert finished.code == 0
    assert "Usage" in finished.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("no-such-verb",),
        ("run", "--no-such-option"),
        ("run", "--max-tokens", "0"),
        ("run", "--fail-on", "clean"),
        ("run", "--trigger", "whim"),
        ("findings", "show", "one"),
        ("lab", "serve", "--port", "70000"),
        ("selftest", "--case", "no-such-case"),
        ("lab", "serve", "--scene", "no-such-scene"),
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_is_2(arguments: tuple[str, ...], place: Workplace):
    """Usage errors say what is wrong, on standard error, before anything is done."""
    place.configure("http://127.0.0.1:9/v1")
    finished = place.invoke(*arguments)

    assert finished.code == Exit.USAGE
    assert finished.stderr
    assert finished.stdout == ""
    assert "Traceback" not in finished.stderr
    assert place.run_rows() == []


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


def test_a_missing_variable_is_named_and_no_value_is_shown(place: Workplace):
    """The usual first mistake is told by the variable's name."""
    place.configure("http://127.0.0.1:9/v1")
    finished = invoke("validate", "--config", str(place.config), environment={"ALPHA_KEY": "sk-only-alpha"})

    assert finished.code == Exit.USAGE
    assert "BRAVO_KEY" in finished.stderr
    assert "sk-only-alpha" not in finished.said


def test_validate_checks_offline_and_estimates(place: Workplace):
    """A good configuration is told with key and estimate; `--show` prints it with secrets masked."""
    place.configure("http://127.0.0.1:9/v1")
    finished = place.invoke("validate")
    shown = place.invoke("validate", "--show")

    assert finished.code == shown.code == 0
    assert "valid; canary key" in finished.stdout
    assert "hostile: a run sends about" in finished.stdout
    assert "baseline_tokens: 2000" in shown.stdout
    assert "**********" in shown.stdout


def test_a_lost_key_file_is_2_and_says_what_to_do(place: Workplace):
    """Without the key no canary can be made: configuration, not a fault of ours."""
    place.configure("http://127.0.0.1:9/v1")
    (place.folder / "canary.key").unlink()

    for verb in ("validate", "run"):
        finished = place.invoke(verb)
        assert finished.code == Exit.USAGE
        assert "canary.key" in finished.stderr


def test_keys_are_made_once_and_rotated(tmp_path: Path):
    """A key is never overwritten; rotating puts the next epoch in force."""
    file = str(tmp_path / "canary.key")
    made, again, rotated = invoke("key", "new", file), invoke("key", "new", file), invoke("key", "rotate", file)

    assert (made.code, again.code, rotated.code) == (0, Exit.USAGE, 0)
    assert "epoch 0" in made.stdout
    assert "epoch 1" in rotated.stdout
    assert oct(Path(file).stat().st_mode & 0o777) == "0o600"
    assert invoke("key", "rotate", str(tmp_path / "none.key")).code == Exit.USAGE


def test_a_database_without_schema_is_2_until_it_is_upgraded(place: Workplace):
    """The message names the verb that helps, and the verb helps, twice as well as once."""
    place.configure("http://127.0.0.1:9/v1")
    for path in place.folder.glob("prober.db*"):
        path.unlink()

    for arguments in (("run",), ("findings", "list")):
        finished = place.invoke(*arguments)
        assert finished.code == Exit.USAGE
        assert "prober db upgrade" in finished.stderr
    assert place.invoke("db", "upgrade").code == 0
    assert place.invoke("db", "upgrade").code == 0
    assert place.invoke("findings", "list").code == 0


def test_the_estimate_sends_nothing(place: Workplace):
    """What a run would cost can be asked without a target that answers."""
    place.configure("http://127.0.0.1:9/v1")
    finished = place.invoke("run", "--estimate")

    assert finished.code == 0
    assert "hostile: 14 requests" in finished.stdout
    assert place.run_rows() == []


# Runs, one for each exit code.


async def test_a_healthy_target_is_0(place: Workplace):
    """CLEAN, with what stands behind it."""
    finished = await run_against(FakeLlm(), place)

    assert finished.code == Exit.CLEAN
    assert " CLEAN  hostile" in finished.stdout
    assert "smallest prompt rejected" in finished.stdout
    assert [outcome for outcome, _, _ in place.run_rows()] == ["clean"]


async def test_a_leaking_target_is_1_and_its_finding_can_be_looked_up(place: Workplace):
    """VIOLATION, said at once and in the report; `findings list` and `show` tell whose text it was."""
    finished = await run_against(FakeLlm(leaks=True), place)
    listed = await place.invoke_beside("findings", "list")
    number = next(line for line in listed.stdout.splitlines() if "foreign_canary" in line).split()[0]
    shown = await place.invoke_beside("findings", "show", number)

    assert finished.code == Exit.VIOLATION
    assert "held text of tenant alpha from its request baseline/000" in finished.said
    assert listed.code == shown.code == 0
    assert "sent by tenant alpha as baseline/000" in shown.stdout
    assert "clean" not in listed.stdout


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


async def test_a_bug_of_ours_is_4_without_a_traceback(monkeypatch: pytest.MonkeyPatch, place: Workplace):
    """The outermost frame names the class and our own lines, and asks for a report."""
    place.configure("http://127.0.0.1:9/v1")

    def broken(*_arguments: object) -> object:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(Prober, "run", broken)
    finished = await place.invoke_beside("run")

    assert finished.code == Exit.OWN_FAILURE
    assert "internal error, please report it" in finished.stderr
    assert "ZeroDivisionError" in finished.stderr
    assert "secret" not in finished.said
    assert "Traceback" not in finished.said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
async def test_an_interrupt_is_130_and_the_run_stands_closed(number: signal.Signals, place: Workplace):
    """A run that is stopped by Ctrl-C or by its container is INCONCLUSIVE in the database, its probes remembered."""
    reached = asyncio.Event()
    stall = stalling()

    async def waiting(peer: Peer) -> None:
        reached.set()
        await stall(peer)

    async with hostile(waiting) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1", hang_seconds=60, deadline_seconds=60)
        process = await place.spawn("run")
        async with asyncio.timeout(60):
            while not reached.is_set() and process.returncode is None:
                await asyncio.sleep(0.02)
        if process.returncode is None:
            process.send_signal(number)
        finished = await finish(process)

    assert finished.code == Exit.INTERRUPTED
    assert "interrupted" in finished.stderr
    assert "Traceback" not in finished.said
    ((outcome, reasons, ended_at),) = place.run_rows()
    assert (outcome, "interrupted" in reasons) == (Outcome.INCONCLUSIVE.value, True)
    assert ended_at is not None
    assert place.answers() == [None]


# Output.


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


async def test_a_reader_that_goes_away_does_not_turn_the_verdict_red(place: Workplace):
    """`prober run | head -1`: the run goes on to its end, and its exit code is that of its verdict."""
    llm = FakeLlm()
    async with hostile(llm.handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1", scenarios=["baseline"])
        process = await place.spawn("run", read_stdout=False)
        finished = await finish(process)

    assert finished.code == Exit.CLEAN
    assert [outcome for outcome, _, _ in place.run_rows()] == ["clean"]
    assert "BrokenPipe" not in finished.stderr


def test_a_finding_that_is_not_there_is_2(place: Workplace):
    """A wrong number is a wrong command line."""
    place.configure("http://127.0.0.1:9/v1")
    finished = place.invoke("findings", "show", "4711")

    assert finished.code == Exit.USAGE
    assert "there is no finding 4711" in finished.stderr


def test_no_findings_is_said_in_words(place: Workplace):
    """An empty list does not look like a failure to list."""
    place.configure("http://127.0.0.1:9/v1")
    finished = place.invoke("findings", "list")

    assert finished.code == 0
    assert "no findings worse than inconclusive" in finished.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_of_others_is_refused_before_sending(place: Workplace):
    """Permission is checked first as well."""
    place.configure("http://127.0.0.1:9/v1")
    folder = place.folder / "theirs"
    folder.mkdir(mode=0o500)

    assert place.invoke("run", "--json", str(folder / "report.json")).code == Exit.USAGE
