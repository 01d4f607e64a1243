"""Exit codes, settled in this one place for all commands and all report formats."""

import enum

from prober.domain.outcome import Outcome


class Exit(enum.IntEnum):
    """What the process tells its caller."""

    CLEAN = 0
    VIOLATION = 1
    """A violation; SUSPECT too with `--fail-on suspect`; a missed fault in the self-test; a demo act that failed."""
    USAGE = 2
    """Wrong command line or configuration."""
    UNDECIDED = 3
    """SUSPECT, INCONCLUSIVE, unreachable, unauthorised."""
    OWN_FAILURE = 4
    INTERRUPTED = 130


class FailOn(enum.Enum):
    """From which outcome on a run counts as failed."""

    VIOLATION = "violation"
    SUSPECT = "suspect"


def settle(outcome: Outcome, fail_on: FailOn = FailOn.VIOLATION) -> Exit:
    """Exit code of a verdict. A stricter `fail_on` turns SUSPECT into a failure, never INCONCLUSIVE."""
    if outcome is Outcome.CLEAN:
        return Exit.CLEAN
    if outcome is Outcome.VIOLATION or (outcome is Outcome.SUSPECT and fail_on is FailOn.SUSPECT):
        return Exit.VIOLATION
    return Exit.UNDECIDED
