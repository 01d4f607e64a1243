"""Many runs folded into rows."""

import json

import pytest

from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.service.fault_runs import run_of
from prober.service.fault_tallies import fired, tally_faults, tally_healthy, tally_kinds
from tests.support.fault_runs import K1, found, healthy, named, reported, seen

K5 = FaultKind.HANDOFF_MIX_UP


def test_a_row_says_how_often_a_fault_was_found_by_what_and_for_how_much():
    """Counts are of runs, costs are means, detectors and kinds are those of the telling findings."""
    runs = [
        found("stub_handoff", wall_seconds=1.0),
        found("stub_handoff", (K5, K1), wall_seconds=3.0),
        seen("stub_handoff", reported(Outcome.VIOLATION, named(K5), probes=40, tokens=4_000), wall_seconds=5.0),
        found("stub_handoff", wall_seconds=3.0),
    ]
    (row,) = tally_faults(runs)

    assert (row.fault, row.kind, row.scenario, row.rate) == ("stub_handoff", "K1", "seed_and_probe", 1.0)
    assert (row.runs, row.found) == (4, 3)
    assert row.detectors == ("own_recall",)
    assert row.named == ("K1", "K5")
    assert row.outcome is Outcome.VIOLATION
    assert (row.probes, row.prompt_tokens, row.wall_seconds) == (17.5, 1_750, 3.0)


def test_rows_stand_in_the_order_of_kinds_and_do_not_mix_what_was_run_differently():
    """One row per fault, scenario and rate, whatever order runs ended in; healthy runs are none of them."""
    runs = [
        found("nan_scratch"),
        healthy("baseline"),
        seen(run_of("stub_handoff", rate=0.5)),
        seen(run_of("stub_handoff", "replay")),
        found("stub_handoff"),
    ]
    rows = tally_faults(runs)

    assert [row.fault for row in rows] == ["stub_handoff", "stub_handoff", "stub_handoff", "nan_scratch"]
    assert {(row.scenario, row.rate, row.found) for row in rows[:3]} == {
        ("seed_and_probe", 0.5, 0),
        ("replay", 1.0, 0),
        ("seed_and_probe", 1.0, 1),
    }


@pytest.mark.parametrize(
    ("hits", "runs", "bound"),
    [(60, 60, 0.05 ** (1 / 60)), (1, 1, 0.05), (0, 10, 0.0), (59, 60, 0.9234)],
)
def test_the_share_found_is_bounded_from_below(hits: int, runs: int, bound: float):
    """All of n: 0.05^(1/n); all but one of 60: 92.3 % (Clopper and Pearson 1934); none: nothing is known."""
    rows = [found("stub_handoff")] * hits + [seen("stub_handoff")] * (runs - hits)
    (row,) = tally_faults(rows)

    assert row.found_lower95 == pytest.approx(bound, abs=1e-4)


def test_kinds_add_up_the_runs_of_their_faults_in_the_order_of_their_numbers():
    """K2 stands before K12; faults and scenarios of one kind are one row."""
    runs = [found("batch_index"), found("stub_handoff"), seen("invalid_handoff"), seen("early_release")]
    rows = tally_kinds(tally_faults(runs))

    assert [row.kind for row in rows] == ["K1", "K2", "K12"]
    assert (rows[0].faults, rows[0].found, rows[0].runs) == (("stub_handoff", "invalid_handoff"), 1, 2)
    assert json.loads(json.dumps(rows[0].facts()))["found_lower95"] == pytest.approx(0.0253, abs=1e-4)
    assert tally_kinds([]) == ()


def test_healthy_rows_count_findings_and_keep_violations_apart():
    """One row per scenario; what could not be judged is no alarm, and runs with a fault are not counted."""
    alarm = named(K1, outcome=Outcome.VIOLATION, reason=Reason.FOREIGN_CANARY)
    doubt = named(K5, reason=Reason.RECALL_COLLAPSED)
    unclear = named(outcome=Outcome.INCONCLUSIVE, reason=Reason.BUSY)
    rows = tally_healthy(
        [
            healthy("replay", doubt, unclear),
            found("stub_handoff"),
            healthy("baseline"),
            healthy("replay", doubt, alarm, doubt),
        ]
    )

    assert [(row.scenario, row.runs, row.probes) for row in rows] == [("replay", 2, 20), ("baseline", 1, 10)]
    assert (rows[0].violations, rows[0].suspicions) == (1, 3)
    assert rows[0].reasons == ("recall_collapsed", "foreign_canary")
    assert (rows[1].violations, rows[1].suspicions, rows[1].reasons) == (0, 0, ())
    assert rows[0].wall_seconds == 4.0


def test_honest_failings_of_all_healthy_labs_are_added_up():
    """Only a failing that came up can have been left alone; strikes of faulty labs are not among them."""
    runs = [
        healthy("replay", counters={"copy_errors": 3, "refusals": 0}),
        healthy("baseline", counters={"copy_errors": 2}),
        found("stub_handoff", counters={"copy_errors": 100, "fault_stub_handoff": 9}),
    ]

    assert fired(runs) == {"copy_errors": 5, "refusals": 0}


def test_rows_are_plain_json():
    """The file of `prober selftest --json` holds them as they are, with the bound."""
    (fault,) = tally_faults([found("stub_handoff")])
    (clean,) = tally_healthy([healthy("baseline")])
    read = json.loads(json.dumps([fault.facts(), clean.facts()]))

    assert read[0]["outcome"] == "suspect"
    assert read[0]["found_lower95"] == 0.05
    assert read[0]["named"] == ["K1"]
    assert read[1] == {
        "scenario": "baseline",
        "runs": 1,
        "probes": 10,
        "violations": 0,
        "suspicions": 0,
        "reasons": [],
        "wall_seconds": 2.0,
    }


def test_without_runs_there_are_no_rows():
    """Nothing was run, and nothing is claimed."""
    assert (tally_faults([]), tally_healthy([]), fired([])) == ((), (), {})
