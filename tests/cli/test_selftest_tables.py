"""Tables of the self-test."""

from prober.cli.selftest_tables import fault_lines, healthy_lines, kind_lines
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.service.fault_tallies import tally_faults, tally_healthy, tally_kinds
from tests.support.fault_runs import K1, found, healthy, named, seen


def test_a_row_per_fault_says_what_found_it_and_at_what_cost():
    """Kind, fault, scenario, rate, found of runs, its bound, verdict, detector, named kind, probes, tokens, seconds."""
    rows = tally_faults([found("stub_handoff")] * 3 + [seen("early_release")])
    heading, stub, early = fault_lines(rows)

    assert heading.split()[:4] == ["kind", "fault", "scenario", "rate"]
    assert " ".join(stub.split()) == "K1 stub_handoff seed_and_probe 1 3/3 37% SUSPECT own_recall K1 10 1,000 2.0"
    assert " ".join(early.split()) == "K2 early_release abort_storm 1 0/1 0% CLEAN - - 10 1,000 2.0"


def test_columns_stand_under_their_headings():
    """Each cell begins where its heading does, so that a reader of a log can follow a column."""
    rows = tally_faults([found("stub_handoff"), seen("early_release"), seen("wrong_session_restored")])
    heading, *lines = fault_lines(rows)

    for title in ("fault", "scenario", "verdict", "named"):
        place = heading.index(title)
        assert all(line[place - 1] == " " and line[place] != " " for line in lines), title


def test_a_row_per_kind_adds_up_its_faults():
    """Faults, found of all runs, the share and its bound."""
    rows = tally_kinds(tally_faults([found("stub_handoff")] * 19 + [seen("invalid_handoff")]))
    heading, line = kind_lines(rows)

    assert heading.split() == ["kind", "faults", "found", "share", "at", "least"]
    assert " ".join(line.split()) == "K1 stub_handoff, invalid_handoff 19/20 95.0% 78.4%"
    assert kind_lines([]) == []


def test_healthy_rows_are_summed_up_beneath():
    """How many probes, how many alarms, and which honest failings came up: without them silence proves little."""
    doubt = named(K1, reason=Reason.RECALL_COLLAPSED)
    alarm = named(K1, outcome=Outcome.VIOLATION, reason=Reason.FOREIGN_CANARY)
    rows = tally_healthy([healthy("baseline"), healthy("replay", doubt, alarm)])
    heading, baseline, replay, total, failings = healthy_lines(rows, {"copy_errors": 1_200, "refusals": 0})

    assert heading.split() == ["scenario", "runs", "probes", "VIOLATION", "SUSPECT", "reasons", "s"]
    assert baseline.split() == ["baseline", "1", "10", "0", "0", "-", "2.0"]
    assert " ".join(replay.split()) == "replay 1 10 1 1 foreign_canary, recall_collapsed 2.0"
    assert total == "20 probes of healthy labs, 1 violations, 1 suspicions"
    assert failings == "what happened there: copy_errors 1,200"


def test_what_was_not_run_has_no_table():
    """A heading without rows would read as if nothing had been found."""
    assert fault_lines([]) == []
    assert healthy_lines([], {"copy_errors": 3}) == []
