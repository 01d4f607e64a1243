"""Issues as values."""

import datetime as dt

import pytest

from prober.domain.issue import IssueChange, IssueState
from tests.support.issues import SEEN, an_issue

SECOND = dt.timedelta(seconds=1)


def test_a_suppression_that_is_over_reads_as_open():
    """From its date on, not before; other states have no date to pass."""
    suppressed = an_issue(state=IssueState.SUPPRESSED, suppressed_until=SEEN)

    assert suppressed.at(SEEN - SECOND) is suppressed
    assert (suppressed.at(SEEN).state, suppressed.at(SEEN).suppressed_until) == (IssueState.OPEN, None)
    for state in (IssueState.OPEN, IssueState.ACKNOWLEDGED, IssueState.RESOLVED):
        issue = an_issue(state=state)
        assert issue.at(SEEN) is issue
    endless = an_issue(state=IssueState.SUPPRESSED)
    assert endless.at(SEEN) is endless


def test_what_counts_is_what_nobody_settled():
    """An acknowledged issue still counts; a resolved or suppressed one does not."""
    assert {state for state in IssueState if state.counts} == {IssueState.OPEN, IssueState.ACKNOWLEDGED}


@pytest.mark.parametrize("change", IssueChange)
def test_what_ends_an_issue(change: IssueChange):
    """Resolved by a person, closed by a run, suppressed for a while: receivers may call it over."""
    assert change.is_end == (change.value in {"resolved", "closed", "suppressed"})
