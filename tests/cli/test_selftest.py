"""The self-test's exit code and tables; the runs themselves are made by the system tests."""

import collections
import dataclasses
import json
import pathlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

import pytest

from prober.domain.fault_kind import FaultKind
from prober.domain.outcome import Outcome
from prober.lab.faults import FAULTS
from prober.plan.scenarios import SCENARIOS
from prober.service.fault_runs import FaultRun, FaultSeen
from prober.service.selftest import CASES, Case, Checked
from tests.support.command import Finished, invoke
from tests.support.fault_runs import named, reported, seen
from tests.support.reports import a_report

FIRST, SECOND = CASES[0].name, CASES[1].name


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settled(Checked):
    """A case whose success is settled beforehand."""

    is_right: bool

    @property
    def is_met(self) -> bool:
        return self.is_right


Observe = Callable[[FaultRun], FaultSeen]


def as_due(run: FaultRun) -> FaultSeen:
    """Faults are found and named, healthy labs are left alone."""
    return seen(run, reported(Outcome.SUSPECT, named(run.kind)) if run.kind else reported())


class Runs:
    """What was run, and how."""

    def __init__(self) -> None:
        self.planned: list[FaultRun] = []
        self.workers = 0


def selftest(
    monkeypatch: pytest.MonkeyPatch,
    *arguments: str,
    missed: Sequence[str] = (),
    observe: Observe = as_due,
    runs: Runs | None = None,
) -> Finished:
    """Every case is met but those named, and every run is seen as `observe` says."""
    heard = runs or Runs()

    async def check(*, cases: Sequence[Case], **_arguments: object) -> AsyncIterator[Case | Checked]:
        for case in cases:
            yield case
            yield Settled(case=case, report=a_report(), is_right=case.name not in missed)

    async def observe_all(
        planned: Iterable[FaultRun], *, workers: int, **_arguments: object
    ) -> AsyncIterator[FaultSeen]:
        heard.planned, heard.workers = list(planned), workers
        for run in heard.planned:
            yield observe(run)

    monkeypatch.setattr("prober.cli.selftest.check", check)
    monkeypatch.setattr("prober.cli.selftest.observe_all", observe_all)
    return invoke("selftest", *arguments)


def test_a_missed_case_fails_and_is_named(monkeypatch: pytest.MonkeyPatch):
    """A pipeline stops at a prober that would miss a fault, or cry wolf; every case stands on a line of its own."""
    finished = selftest(monkeypatch, missed=[SECOND])

    assert finished.code == 1
    assert f"MISSED {SECOND}: VIOLATION" in finished.stdout
    assert f"ok     {FIRST}: VIOLATION" in finished.stdout
    assert f"1 missed: {SECOND}" in finished.stdout
    assert sum(line.startswith(("ok ", "MISSED ")) for line in finished.stdout.splitlines()) == len(CASES)


def test_right_verdicts_are_0(monkeypatch: pytest.MonkeyPatch):
    """Only the cases asked for are run, in the order asked."""
    finished = selftest(monkeypatch, "--case", SECOND, "--case", FIRST)

    assert finished.code == 0
    lines = finished.stdout.splitlines()
    assert [line.split(":")[0] for line in lines[:2]] == [f"ok     {SECOND}", f"ok     {FIRST}"]
    assert lines[-1] == "every verdict is right"


def test_an_unknown_case_is_2_and_the_known_ones_can_be_told_apart(monkeypatch: pytest.MonkeyPatch):
    """Names hold commas, so a list of them uses something else."""
    finished = selftest(monkeypatch, "--case", "nightmare")

    assert finished.code == 2
    assert f"no case 'nightmare'; there are: {'; '.join(case.name for case in CASES)}" in finished.said


# --- faults and healthy labs --------------------------------------------------------------------------------------


def test_without_options_everything_is_run_once(monkeypatch: pytest.MonkeyPatch):
    """All cases, each fault by its own scenario at rate 1, each scenario against a healthy lab."""
    runs = Runs()
    finished = selftest(monkeypatch, runs=runs)

    assert finished.code == 0
    assert f"{len(CASES)} cases" in finished.stdout
    assert [run.fault for run in runs.planned] == [*FAULTS, *[None] * len(SCENARIOS)]
    assert {run.rate for run in runs.planned} == {1.0}
    assert runs.workers == 2
    assert all(name in finished.stdout for name in (*FAULTS, *SCENARIOS))


@pytest.mark.parametrize(
    ("arguments", "cases", "faults", "is_healthy"),
    [
        (("--case", FIRST), 1, set(), False),
        (("--fault", "load_race", "--fault", "stub_handoff"), 0, {"load_race", "stub_handoff"}, False),
        (("--healthy",), 0, set(), True),
        (("--healthy", "--fault", "load_race"), 0, {"load_race"}, True),
        (("--case", FIRST, "--healthy"), 1, set(), True),
    ],
)
def test_only_what_was_asked_for_is_run(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], cases: int, faults: set[str], *, is_healthy: bool
):
    """Each of `--case`, `--fault` and `--healthy` leaves out what none of them names."""
    runs = Runs()
    finished = selftest(monkeypatch, *arguments, runs=runs)

    assert finished.code == 0
    assert sum(line.startswith("ok ") for line in finished.stdout.splitlines()) == cases
    assert {run.fault for run in runs.planned} - {None} == faults
    assert any(run.fault is None for run in runs.planned) is is_healthy


def test_rate_seeds_rounds_and_workers_reach_the_runs(monkeypatch: pytest.MonkeyPatch):
    """Every seed once; rounds are those of healthy labs, and no fault's own scenario is shortened by them."""
    runs = Runs()
    arguments = (
        "--fault",
        "load_race",
        "--healthy",
        "--rate",
        "0.25",
        "--seeds",
        "3",
        "--rounds",
        "5",
        "--workers",
        "7",
    )
    selftest(monkeypatch, *arguments, runs=runs)
    faulty = [run for run in runs.planned if run.fault]
    healthy = [run for run in runs.planned if not run.fault]

    assert [(run.fault, run.seed, run.rate) for run in faulty] == [("load_race", seed, 0.25) for seed in range(3)]
    assert all(run.settings == {"excluded_leak_rate": 0.25} for run in faulty)
    assert len(healthy) == 3 * len(SCENARIOS)
    assert all(run.settings == {"rounds": 5, "baseline_probes": 5, "over_limit_probes": 5} for run in healthy)
    assert runs.workers == 7


def test_a_fault_that_is_not_found_often_enough_fails(monkeypatch: pytest.MonkeyPatch):
    """95 % of a fault's runs must find it: 19 of 20 do, 18 do not."""

    def missing(count: int) -> Observe:
        return lambda run: seen(run) if run.seed < count else as_due(run)

    enough = selftest(monkeypatch, "--fault", "load_race", "--seeds", "20", observe=missing(1))
    too_few = selftest(monkeypatch, "--fault", "load_race", "--seeds", "20", observe=missing(2))

    assert (enough.code, too_few.code) == (0, 1)
    assert "19/20" in enough.stdout
    assert "1 missed: load_race by park_and_return" in too_few.stdout


def test_with_seeds_per_kind_a_kind_is_judged_as_a_whole(monkeypatch: pytest.MonkeyPatch):
    """One miss in twenty runs of a kind is enough, whichever of its faults it was; two are not."""

    def missing(count: int) -> Observe:
        return lambda run: seen(run) if run.fault == "load_race" and run.seed < count else as_due(run)

    enough = selftest(monkeypatch, "--faults", "--per-kind", "--seeds", "20", observe=missing(1))
    too_few = selftest(monkeypatch, "--faults", "--per-kind", "--seeds", "20", observe=missing(2))

    assert (enough.code, too_few.code) == (0, 1)
    assert " ".join(enough.stdout.split()).count("K3 load_race, store_race 19/20 95.0%") == 1
    assert too_few.stdout.splitlines()[-1] == "1 missed: K3"


def test_named_faults_share_their_kinds_seeds_by_themselves(monkeypatch: pytest.MonkeyPatch):
    """No other fault is run beside them."""
    heard = Runs()
    arguments = ("--faults", "--per-kind", "--seeds", "20", "--fault", "load_race", "--fault", "store_race")
    finished = selftest(monkeypatch, *arguments, runs=heard)

    assert finished.code == 0
    assert collections.Counter(run.fault for run in heard.planned) == {"load_race": 10, "store_race": 10}


def test_a_marathon_that_falls_short_fails(monkeypatch: pytest.MonkeyPatch):
    """Silence about what was never met says nothing: what is missing is named."""
    finished = selftest(monkeypatch, "--healthy", "--marathon", "--seeds", "2")

    assert finished.code == 1
    assert "only 340 of 20,000 probes" in finished.stdout
    assert "copy_errors came up only 0 of 50 times" in finished.stdout


def test_an_interrupted_self_test_shows_what_it_saw(monkeypatch: pytest.MonkeyPatch):
    """An hour of runs is not lost; exit 130, and nothing reads as if all had been right."""

    def interrupted(run: FaultRun) -> FaultSeen:
        if run.seed == 2:
            raise KeyboardInterrupt
        return as_due(run)

    finished = selftest(monkeypatch, "--fault", "load_race", "--seeds", "5", observe=interrupted)

    assert finished.code == 130
    assert "2/2" in finished.stdout
    assert "interrupted after 2 runs" in finished.stdout
    assert "every verdict is right" not in finished.stdout


def test_the_page_is_written_too(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path):
    """For the documentation: whoever reads it needs no terminal."""
    path = tmp_path / "matrix.md"
    finished = selftest(monkeypatch, "--fault", "load_race", "--page", str(path))

    assert finished.code == 0
    assert "| K3 | `load_race` | **S** |" in path.read_text(encoding="utf-8")


def test_a_fault_that_is_named_wrong_is_missed(monkeypatch: pytest.MonkeyPatch):
    """A violation that suspects other kinds sends whoever reads it to the wrong part of the server."""
    wrong = named(FaultKind.MISROUTING, FaultKind.SHARED_CACHE, FaultKind.READ_BEFORE_READY, outcome=Outcome.VIOLATION)
    finished = selftest(
        monkeypatch, "--fault", "load_race", observe=lambda run: seen(run, reported(Outcome.VIOLATION, wrong))
    )

    assert finished.code == 1
    assert "1 missed: load_race" in finished.stdout


def test_in_full_one_scenario_must_find_a_fault(monkeypatch: pytest.MonkeyPatch):
    """Scenarios that are not a fault's own may miss it, but not all of them."""

    def only(scenario: str) -> Observe:
        return lambda run: as_due(run) if run.scenario == scenario else seen(run)

    found = selftest(monkeypatch, "--fault", "load_race", "--full", observe=only("replay"))
    missed = selftest(monkeypatch, "--fault", "load_race", "--full", observe=seen)

    assert (found.code, missed.code) == (0, 1)
    assert missed.stdout.splitlines()[-1] == "1 missed: load_race"


@pytest.mark.parametrize(("outcome", "code"), [(Outcome.SUSPECT, 0), (Outcome.VIOLATION, 1)])
def test_a_violation_in_a_healthy_lab_fails(monkeypatch: pytest.MonkeyPatch, outcome: Outcome, code: int):
    """A suspicion is shown; a violation where nothing is wrong is what a prober must never tell."""
    alarm = named(FaultKind.CACHE_KEY, outcome=outcome)
    finished = selftest(
        monkeypatch,
        "--healthy",
        observe=lambda run: seen(run, reported(outcome, *([alarm] if run.scenario == "replay" else []))),
    )

    assert finished.code == code
    assert ("healthy replay" in finished.stdout) is bool(code)


def test_tables_are_written_as_json_too(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path):
    """The same rows with their bounds, and which honest failings came up, for whoever keeps them."""
    path = tmp_path / "tables.json"
    counted = {"copy_errors": 2}
    finished = selftest(
        monkeypatch,
        *("--fault", "load_race", "--healthy", "--json", str(path)),
        observe=lambda run: dataclasses.replace(as_due(run), counters=counted),
    )
    written = json.loads(path.read_text(encoding="utf-8"))

    assert finished.code == 0
    assert written["schema"] == "isolation-prober/selftest/1"
    assert [(row["fault"], row["kind"], row["found"], row["runs"]) for row in written["faults"]] == [
        ("load_race", "K3", 1, 1)
    ]
    assert [row["scenario"] for row in written["healthy"]] == list(SCENARIOS)
    assert written["honest_failings"] == {"copy_errors": 2 * len(SCENARIOS)}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--fault", "nightmare"), "no fault 'nightmare'; there are: stub_handoff, "),
        (("--fault", "load_race", "--json", "/nowhere/tables.json"), "/nowhere/tables.json cannot be written"),
        (("--rate", "0"), "--rate"),
        (("--seeds", "0"), "--seeds"),
        (("--workers", "65"), "--workers"),
        (("--fault", "load_race", "--marathon"), "--marathon is about healthy labs: give --healthy too"),
        (("--healthy", "--per-kind"), "--per-kind is about all faults"),
        (("--faults", "--full", "--per-kind"), "--per-kind is about all faults"),
        (("--fault", "load_race", "--page", "/nowhere/page.md"), "/nowhere/page.md cannot be written"),
    ],
)
def test_what_cannot_be_run_is_2(monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str):
    """A wrong command line is not a prober that fails."""
    finished = selftest(monkeypatch, *arguments)

    assert finished.code == 2
    assert words in finished.said


def test_a_marathon_that_probed_too_little_fails_and_says_what_is_missing(monkeypatch: pytest.MonkeyPatch):
    """Silence counts only after enough probes and enough of each honest failing; without the option it is enough."""
    assert selftest(monkeypatch, "--healthy").code == 0

    short = selftest(monkeypatch, "--healthy", "--marathon")

    told = " ".join(short.stdout.split())
    assert short.code == 1
    assert "only 170 of 20,000 probes" in told
    assert "drift sent only 10 of 1,000 probes" in told
    assert "rate_limited came up only 0 of 50 times" in told


def test_only_the_faults_can_be_asked_for(monkeypatch: pytest.MonkeyPatch):
    """Each by its own scenario, once per seed: no case and no healthy lab."""
    runs = Runs()
    finished = selftest(monkeypatch, "--faults", "--seeds", "2", runs=runs)

    assert [run.fault for run in runs.planned] == [*FAULTS, *FAULTS]
    assert finished.code == 0
    assert "cases," not in finished.stdout


def test_a_marathon_without_healthy_labs_is_2(monkeypatch: pytest.MonkeyPatch):
    """What it asks for could never be met."""
    finished = selftest(monkeypatch, "--faults", "--marathon")

    assert finished.code == 2
    assert "--marathon is about healthy labs" in finished.said
