"""The matrix as a page."""

import pytest

from prober.cli.selftest_page import matrix_page
from prober.domain.fault_kind import FaultKind
from prober.domain.outcome import Outcome
from prober.plan.scenarios import SCENARIOS
from prober.service.fault_runs import run_of
from prober.service.fault_tallies import tally_faults, tally_healthy
from tests.support.fault_runs import K1, healthy, named, reported, seen

OTHER = FaultKind.MISROUTING


@pytest.mark.parametrize(
    ("outcome", "kind", "mark"),
    [
        (Outcome.VIOLATION, K1, "V"),
        (Outcome.VIOLATION, OTHER, "v"),
        (Outcome.SUSPECT, K1, "S"),
        (Outcome.SUSPECT, OTHER, "s"),
        (Outcome.INCONCLUSIVE, OTHER, "?"),
        (Outcome.CLEAN, OTHER, "."),
    ],
)
def test_each_cell_says_what_came_of_it(outcome: Outcome, kind: FaultKind, mark: str):
    """A fault that was named as another kind, one that nothing could be said of, and one not seen are told apart."""
    run = seen(run_of("stub_handoff", "replay"), reported(outcome, named(kind, outcome=outcome)))
    page = matrix_page(tally_faults([run]), (), {})

    assert "| kind | fault | `replay` |" in page
    assert f"| K1 | `stub_handoff` | {mark} |" in page


def test_the_own_scenario_stands_out_with_its_cost():
    """Whoever asks what a kind takes to be found reads it off one line; scenarios stand in the registry's order."""
    both = [
        seen(run_of("stub_handoff", name), reported(Outcome.SUSPECT, named(K1)))
        for name in ("replay", "seed_and_probe")
    ]
    page = matrix_page(tally_faults(both), (), {})

    assert list(SCENARIOS).index("seed_and_probe") < list(SCENARIOS).index("replay")
    assert "| kind | fault | `seed_and_probe` | `replay` |" in page
    assert "| K1 | `stub_handoff` | **S** | S |" in page
    assert "| K1 | `stub_handoff` | `seed_and_probe` | 1/1 | SUSPECT | own_recall | K1 | 10 | 1,000 | 2.0 |" in page


def test_healthy_rows_stand_beside():
    """A matrix without them would not say how often the prober cries wolf."""
    page = matrix_page((), tally_healthy([healthy("baseline")]), {"refusals": 1_200, "retries": 0})

    assert "| `baseline` | 1 | 10 | 0 | 0 | 2.0 |" in page
    assert "refusals 1,200." in page
    assert "retries" not in page
    assert "What its own scenario needs" not in page
