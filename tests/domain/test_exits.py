"""The exit-code table."""

import pytest

from prober.domain.exits import Exit, FailOn, settle
from prober.domain.outcome import Outcome


@pytest.mark.parametrize(
    ("outcome", "fail_on", "code"),
    [
        (Outcome.CLEAN, FailOn.VIOLATION, 0),
        (Outcome.CLEAN, FailOn.SUSPECT, 0),
        (Outcome.VIOLATION, FailOn.VIOLATION, 1),
        (Outcome.VIOLATION, FailOn.SUSPECT, 1),
        (Outcome.SUSPECT, FailOn.VIOLATION, 3),
        (Outcome.SUSPECT, FailOn.SUSPECT, 1),
        (Outcome.INCONCLUSIVE, FailOn.VIOLATION, 3),
        (Outcome.INCONCLUSIVE, FailOn.SUSPECT, 3),
    ],
)
def test_a_verdict_settles_to_its_exit_code(outcome: Outcome, fail_on: FailOn, code: int):
    """A stricter threshold never turns `could not tell` into a failure, and nothing undecided is 0."""
    assert settle(outcome, fail_on) == code


def test_the_codes_are_those_of_the_documentation():
    """Callers script against these numbers."""
    assert [(code.name, int(code)) for code in Exit] == [
        ("CLEAN", 0),
        ("VIOLATION", 1),
        ("USAGE", 2),
        ("UNDECIDED", 3),
        ("OWN_FAILURE", 4),
        ("INTERRUPTED", 130),
    ]
