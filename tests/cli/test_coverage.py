"""Which kinds of fault a target has been probed for, as the command line tells it."""

import asyncio
import dataclasses
import json

from prober.domain.canary import Canary
from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Role
from prober.plan.scenarios import SCENARIOS
from prober.stats.bounds import leak_rate_upper95
from prober.store.database import Database
from prober.store.ledger import SqlLedger
from prober.wiring.system import SystemClock
from tests.support.command import Workplace
from tests.support.evidence import a_probe, a_prompt
from tests.support.reports import a_campaign
from tests.support.stored import finding_of, judged, opened

URL = "http://127.0.0.1:9/v1"
NOON = "2026-11-30 12:00Z"


def store(place: Workplace, build: str, scenario: str, *outcomes: Outcome, target: str = "hostile") -> None:
    """Write a run with one judged check per outcome."""

    async def write() -> None:
        database = Database(f"sqlite:///{place.database}")
        try:
            ledger = SqlLedger(database, SystemClock())
            named = dataclasses.replace(a_campaign().target, name=target, build=build)
            campaign = a_campaign(target=named, scenarios=(scenario,))
            run = await opened(ledger, run_id=f"{target}-{build}-{scenario}", campaign=campaign)
            for number, outcome in enumerate(outcomes):
                canary = Canary.of(1, 0, number)
                probe = a_probe(label=f"{scenario}/{number:04d}", scenario=scenario, role=Role.CHECK)
                await ledger.remember(run, [(probe, a_prompt(canary=canary))])
                reason = Reason.SERVED if outcome is Outcome.CLEAN else Reason.RECALL_COLLAPSED
                finding = finding_of(outcome, reason, probe.label)
                await ledger.record(run, judged(finding, probe=probe, prompt=a_prompt(canary=canary)))
        finally:
            await database.close()

    asyncio.run(write())


def lines_of(text: str) -> dict[str, str]:
    """Kind -> its line, blanks run together."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return {line.split()[0]: line for line in lines if line.split()[0].startswith("K")}


def test_a_target_that_was_never_probed_says_so_of_every_kind(place: Workplace):
    """Nothing is clean that nobody looked at; each row says what would probe it."""
    finished = place.configure(URL).invoke("coverage")
    lines = lines_of(finished.stdout)

    assert finished.code == 0
    assert "hostile, build (unnamed)" in finished.stdout
    assert list(lines) == [kind.value for kind in FaultKind]
    for kind in FaultKind:
        names = ", ".join(name for name, scenario in SCENARIOS.items() if kind in scenario.kinds)
        assert lines[kind.value] == f"{kind.value} {kind.title} never 0 (would be: {names})"


def test_what_was_probed_has_a_date_a_bound_and_its_scenarios(place: Workplace):
    """Clean probes bound the leak rate; where something was suspected the outcome stands instead."""
    place.configure(URL)
    store(place, "b1", "replay", *[Outcome.CLEAN] * 30)
    store(place, "b1", "keepalive", Outcome.CLEAN, Outcome.SUSPECT)
    lines = lines_of(place.invoke("coverage").stdout)

    bound = f"{leak_rate_upper95(30):.2%}"
    assert f"{NOON} 30 {bound} clean replay" in lines["K9"]
    assert f"{NOON} 1 suspect keepalive" in lines["K14"]
    assert "never" in lines["K1"]


def test_json_holds_the_same_facts(place: Workplace):
    """One object per target with 19 kinds, bounds as numbers and dates with their zone."""
    place.configure(URL)
    store(place, "b1", "replay", *[Outcome.CLEAN] * 30)
    finished = place.invoke("coverage", "--json")
    (told,) = json.loads(finished.stdout)
    kinds = {row["kind"]: row for row in told["kinds"]}

    assert (told["target"], told["build"]) == ("hostile", "b1")
    assert list(kinds) == [kind.value for kind in FaultKind]
    assert kinds["K9"] == {
        "kind": "K9",
        "title": FaultKind.WRONG_SESSION.title,
        "scenarios": [name for name, scenario in SCENARIOS.items() if FaultKind.WRONG_SESSION in scenario.kinds],
        "probed_by": ["replay"],
        "last_at": "2026-11-30T12:00:00+00:00",
        "clean": 30,
        "leak_rate_upper95": leak_rate_upper95(30),
        "outcome": "clean",
    }
    assert (kinds["K1"]["last_at"], kinds["K1"]["outcome"], kinds["K1"]["leak_rate_upper95"]) == (None, None, None)


def test_a_build_can_be_asked_for(place: Workplace):
    """Bounds of one build say nothing of another: an earlier one is looked up by its label, an unknown one is bare."""
    place.configure(URL)
    store(place, "b1", "replay", *[Outcome.CLEAN] * 5)
    store(place, "b2", "keepalive", Outcome.CLEAN)

    assert "replay" in lines_of(place.invoke("coverage", "--build", "b1").stdout)["K9"]
    assert "would be" not in lines_of(place.invoke("coverage", "--build", "b1").stdout)["K9"]
    assert "would be" in lines_of(place.invoke("coverage", "--build", "b2").stdout)["K9"]
    assert all("never" in line for line in lines_of(place.invoke("coverage", "--build", "b3").stdout).values())


def test_another_targets_probes_are_not_counted(place: Workplace):
    """Coverage is of one target."""
    place.configure(URL)
    store(place, "b1", "replay", Outcome.CLEAN, target="elsewhere")

    assert all("never" in line for line in lines_of(place.invoke("coverage", "--target", "hostile").stdout).values())


def test_an_unknown_target_is_2(place: Workplace):
    """A misspelt name must not read as never probed."""
    finished = place.configure(URL).invoke("coverage", "--target", "nowhere")

    assert finished.code == 2
    assert "no target 'nowhere'; there are: hostile" in finished.said
