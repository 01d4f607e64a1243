"""Which kinds of fault a target has been probed for."""

import datetime as dt

import pytest

from prober.domain.fault_kind import FaultKind
from prober.domain.outcome import Outcome
from prober.plan.scenarios import SCENARIOS
from prober.service.coverage import coverage, latest_build
from prober.stats.bounds import leak_rate_upper95
from prober.store.rows import StoredTally

NOON = dt.datetime(2026, 9, 1, 12, tzinfo=dt.UTC)
KIND = FaultKind.REJECTED_BUT_ADMITTED


def a_tally(scenario: str = "seed_and_probe", **changes: object) -> StoredTally:
    given = {"scenario": scenario, "build": "b2", "outcome": Outcome.CLEAN, "probes": 10, "last_at": NOON}
    return StoredTally(**{**given, **changes})  # type: ignore[arg-type]


def test_each_kind_has_a_row_and_each_row_a_scenario():
    """K1 to K19 in order, never probed before anything ran; no kind is without a scenario that provokes it."""
    rows = coverage([], "b2")

    assert [row.kind for row in rows] == list(FaultKind)
    assert all(row.scenarios for row in rows)
    assert {(row.probed_by, row.clean, row.last_at, row.outcome, row.leak_rate_upper95) for row in rows} == {
        ((), 0, None, None, None)
    }


def test_a_bound_comes_from_the_scenario_with_most_clean_probes():
    """Scenarios for one kind are alternatives: their counts are not added."""
    tallies = [a_tally(probes=10), a_tally("limit_sweep", probes=30, last_at=NOON + dt.timedelta(hours=1))]
    row = next(row for row in coverage(tallies, "b2") if row.kind is KIND)

    assert row.probed_by == ("seed_and_probe", "limit_sweep")
    assert row.leak_rate_upper95 == leak_rate_upper95(30)
    assert row.last_at == NOON + dt.timedelta(hours=1)


@pytest.mark.parametrize("outcome", [Outcome.SUSPECT, Outcome.VIOLATION])
def test_where_something_was_found_there_is_no_bound(outcome: Outcome):
    """A finding of any scenario for the kind weighs more than the clean probes of another."""
    tallies = [a_tally(), a_tally("limit_sweep", outcome=outcome, probes=1)]
    row = next(row for row in coverage(tallies, "b2") if row.kind is KIND)

    assert row.outcome is outcome
    assert row.leak_rate_upper95 is None


def test_what_was_not_judged_excludes_nothing():
    """INCONCLUSIVE probes show that the kind was probed, and bound nothing."""
    row = next(row for row in coverage([a_tally(outcome=Outcome.INCONCLUSIVE)], "b2") if row.kind is KIND)

    assert (row.probed_by, row.clean, row.leak_rate_upper95) == (("seed_and_probe",), 0, None)


def test_builds_are_never_mixed():
    """Clean probes of an earlier build say nothing of this one; the build probed last is the one that counts."""
    tallies = [a_tally(build="b1", last_at=NOON), a_tally("baseline", build="b2", last_at=NOON + dt.timedelta(days=1))]

    assert latest_build(tallies) == "b2"
    assert latest_build([]) is None
    assert all(row.probed_by in {(), ("baseline",)} for row in coverage(tallies, "b2"))
    assert "baseline" in SCENARIOS
