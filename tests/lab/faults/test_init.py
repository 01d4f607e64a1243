"""The registry of faults."""

import collections
import re

import pytest

from prober.domain.errors import LabError
from prober.domain.fault_kind import FaultKind
from prober.lab.dice import Dice
from prober.lab.faults import FAULTS, check, known_fixes, seams_of
from prober.lab.faults.fault import Fault
from prober.lab.fixes import Fix
from prober.lab.scenes import SCENES
from prober.lab.seams import Seams
from prober.plan.scenarios import SCENARIOS
from prober.service.fault_runs import scenario_of

WITH_MACHINERY = {
    "stub_handoff": {Fix.RETIRE_AFTER_FORWARD, Fix.REJECT_AT_DOOR},
    "early_release": {Fix.DEFERRED_RELEASE},
}
"""Faults that only repairs with machinery of their own make clean."""


def dice_for(*names: str) -> Dice:
    return Dice(dict.fromkeys(names, 1.0), 0, collections.Counter())


def decisions_of(fault: type[Fault]) -> list[str]:
    """Names of the seams that a fault overrides."""
    return [name for name in vars(fault) if hasattr(Seams, name) and not name.startswith("__")]


def test_every_kind_is_bred():
    """Each of the 19 kinds has a fault, and each fault is of one of them."""
    assert {fault.KIND for fault in FAULTS.values()} == {kind.value for kind in FaultKind}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_says_all_that_runs_and_readers_need(name: str):
    """Name, kind, source, a scene and a scenario that exist, and at least one fix."""
    fault = FAULTS[name]

    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", name)
    assert name == fault.NAME
    assert fault.SCENE in SCENES
    assert scenario_of(name) in SCENARIOS
    assert fault.SUMMARY.endswith(".")
    assert fault.SOURCE
    assert fault.FIXES or WITH_MACHINERY[name]
    assert "" not in fault.FIXES


def test_a_scenarios_own_kinds_hold_the_faults_that_it_is_chosen_for():
    """What `prober coverage` counts as probed by a scenario is what the self-test proves of it."""
    wrong = {
        name: scenario_of(name)
        for name, fault in FAULTS.items()
        if FaultKind(fault.KIND) not in SCENARIOS[scenario_of(name)].kinds
    }

    assert wrong == {}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_makes_its_own_decisions_and_no_other(name: str):
    """It overrides decisions that exist, and leaves all others right."""
    seams = type(seams_of({name: 1.0}, (), dice_for(name)))
    own = decisions_of(FAULTS[name])

    assert own
    for decision in dir(Seams):
        is_right = getattr(seams, decision) is getattr(Seams, decision)
        assert decision.startswith("__") or is_right is (decision not in own), decision


@pytest.mark.parametrize(("name", "fix"), [(name, fix) for name in FAULTS for fix in sorted(FAULTS[name].FIXES)])
def test_a_fix_unmakes_its_fault(name: str, fix: str):
    """With a repair that a fault lists every decision is right again."""
    assert isinstance(seams_of({name: 1.0}, (), dice_for(name)), FAULTS[name])
    assert not isinstance(seams_of({name: 1.0}, {fix}, dice_for(name)), Fault)


def test_a_cluster_can_have_several_faults():
    """Faults of different decisions stand beside each other, and those of one decision fall back to each other."""
    names = ("stale_reference", "room_collision", "head_dropped", "tail_dropped")
    seams = seams_of(dict.fromkeys(names, 1.0), {"unique_rooms"}, dice_for(*names))

    assert not seams.holds_until_pulled(1)
    assert seams.room_key(7) == 7
    assert seams.drops_head(1)
    assert seams.drops_tail(1)


def test_all_faults_at_once_are_one_cluster():
    """The whole registry can be mixed; no override is in another's way."""
    seams = seams_of(dict.fromkeys(FAULTS, 1.0), (), dice_for(*FAULTS))

    assert all(isinstance(seams, fault) for fault in FAULTS.values())


def test_without_faults_decisions_are_the_right_ones():
    """A healthy cluster has no override in it."""
    assert type(seams_of({}, (), dice_for())).mro()[1] is Seams


@pytest.mark.parametrize(
    ("rates", "fixes", "words"),
    [
        ({"nonsense": 1.0}, (), "no fault 'nonsense'; there are: stub_handoff, "),
        ({"load_race": 0.0}, (), "'load_race' must be above 0"),
        ({"load_race": 1.01}, (), "at most 1"),
        ({"load_race": -0.1}, (), "above 0"),
        ({"load_race": float("nan")}, (), "above 0"),
        ({}, ("nonsense",), "no fix 'nonsense'; there are: "),
        ({"load_race": 1.0}, ("load_race",), "no fix 'load_race'"),
    ],
)
def test_what_cannot_be_built_in_is_refused(rates: dict[str, float], fixes: tuple[str, ...], words: str):
    """A misspelt name must not make a healthy cluster that then passes for a repaired one."""
    with pytest.raises(LabError, match=re.escape(words)):
        check(rates, fixes)
    with pytest.raises(LabError, match=re.escape(words)):
        seams_of(rates, fixes, dice_for())


def test_all_fixes_are_known():
    """Those with machinery, and those that faults list."""
    assert known_fixes() >= set(map(str, Fix))
    assert {"unique_rooms", "cancellable_sends", "honest_endings"} <= known_fixes()
