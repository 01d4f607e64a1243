"""The stable form of notices that webhooks carry."""

from prober.domain.issue import IssueState
from prober.domain.notice import Donor, TrialNotice
from prober.notify.facts import event, issue_facts, kind_of
from tests.support.issues import SEEN, a_notice, a_verdict_notice, an_issue


def test_an_issue_is_told_whole_but_for_words():
    """Ids, hashes, counts, codes and dates; this form is versioned, so the fields are fixed here."""
    assert issue_facts(an_issue(message="m", note="n", changed_by="b")) == {
        "id": 12,
        "fingerprint": "ab" * 32,
        "target": "staging",
        "detector": "foreign_canary",
        "reason": "foreign_canary",
        "outcome": "violation",
        "state": "open",
        "first_seen": "2026-09-01T12:00:05Z",
        "last_seen": "2026-09-01T12:00:05Z",
        "count": 3,
        "reopened": 0,
        "kinds": ["K2"],
        "scenarios": ["seed_and_probe"],
        "evidence_bits": 36.6,
        "last_run_id": "run-1",
        "last_finding_id": 7,
        "suppressed_until": None,
    }
    suppressed = issue_facts(an_issue(state=IssueState.SUPPRESSED, suppressed_until=SEEN))
    assert (suppressed["state"], suppressed["suppressed_until"]) == ("suppressed", "2026-09-01T12:00:05Z")


def test_events_carry_their_own_part():
    """Issue and donors, or a verdict, or nothing; a run or build that is not known is null."""
    notice = a_notice()
    assert event(notice)["donors"] == [{"tenant": "bravo", "canary": "t0002-p00000004d", "run_id": "run-0"}]
    assert event(a_verdict_notice(build=""))["verdict"] == {
        "run_id": "run-1",
        "target": "staging",
        "build": None,
        "outcome": "violation",
        "reasons": ["foreign_canary"],
    }
    assert set(event(TrialNotice(event_id="t", at=SEEN))) == {"id", "type", "at", "title"}
    assert Donor(canary="c", tenant="tenant 9").run_id == ""
    assert [kind_of(each) for each in (notice, a_verdict_notice())] == ["issue.opened", "rollout.verdict"]
