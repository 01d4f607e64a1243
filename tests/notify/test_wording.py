"""Notices in words."""

import datetime as dt

from prober.domain.issue import IssueChange
from prober.domain.notice import TrialNotice
from prober.domain.outcome import Outcome
from prober.notify.wording import detail, stamp, title
from tests.support.issues import SEEN, a_notice, a_verdict_notice


def test_each_change_has_words_of_its_own():
    """A reader of one line knows what happened, where, and how bad it is."""
    titles = {change: title(a_notice(change)) for change in IssueChange}

    assert titles[IssueChange.REOPENED] == "VIOLATION on staging: foreign_canary is back (issue 12)"
    assert len(set(titles.values())) == len(IssueChange)
    assert title(a_verdict_notice()) == "Rollout of 2026-09-01 on staging: VIOLATION"
    assert title(a_verdict_notice(build="")) == "Rollout on staging: VIOLATION"
    assert title(TrialNotice(event_id="t", at=SEEN)).startswith("TEST")


def test_details_say_how_often_by_whom_and_whose_text():
    """Counts, suspected kinds with their titles, and donors as tenant and run."""
    text = detail(a_notice(reopened=2, kinds=("K2", "K99")))

    assert "Found 3 times by foreign_canary since 2026-09-01T12:00:05Z, reopened 2 times, at most 37 bits" in text
    assert "Latest run run-1, finding 7." in text
    assert "Suspected: K2 " in text
    assert "K99." in text
    assert "Text of bravo came out: canary t0002-p00000004d, sent by run run-0." in text


def test_what_is_not_known_is_left_out_or_said():
    """No bits, no kinds, no reasons: no empty phrases."""
    text = detail(a_notice(evidence_bits=0.0, kinds=()))
    assert "bits" not in text
    assert "Suspected" not in text
    assert detail(a_verdict_notice()) == "Run run-1: foreign_canary."
    assert detail(a_verdict_notice(outcome=Outcome.CLEAN, reasons=())) == "Run run-1: nothing found."
    assert "prober notify test" in detail(TrialNotice(event_id="t", at=SEEN))


def test_dates_are_utc():
    """Whatever zone a date has."""
    assert stamp(SEEN.astimezone(dt.timezone(dt.timedelta(hours=2)))) == "2026-09-01T12:00:05Z"
