"""Notices and routes as values."""

from prober.domain.finding import Reason
from prober.domain.notice import Route, TrialNotice
from prober.domain.outcome import Outcome
from tests.support.issues import SEEN, a_notice, a_verdict_notice, an_issue


def test_what_belongs_together_has_one_subject():
    """Changes of one issue are told in order; verdicts and trials stand alone."""
    assert a_notice(event_id="a").subject == a_notice(event_id="b").subject == an_issue().fingerprint
    assert a_verdict_notice().subject == "run-1"
    assert TrialNotice(event_id="t", at=SEEN).subject == "t"


def test_a_route_takes_by_target_and_outcome():
    """No targets or reasons named means all of them."""
    suspicion = an_issue(outcome=Outcome.SUSPECT)
    assert Route(receiver="r").takes_issue(suspicion)
    assert not Route(receiver="r", min_outcome=Outcome.VIOLATION).takes_issue(suspicion)
    assert Route(receiver="r", targets=frozenset({"staging"})).takes_issue(suspicion)
    assert not Route(receiver="r", targets=frozenset({"other"})).takes_issue(suspicion)
    assert Route(receiver="r", reasons=frozenset({Reason.FOREIGN_CANARY})).takes_issue(suspicion)
    assert not Route(receiver="r", reasons=frozenset({Reason.LATE_ECHO})).takes_issue(suspicion)


def test_a_route_takes_verdicts_of_its_targets():
    """Whatever the outcome, where the receiver has words for them."""
    assert Route(receiver="r", min_outcome=Outcome.VIOLATION).takes_verdict("staging")
    assert not Route(receiver="r", targets=frozenset({"other"})).takes_verdict("staging")
    assert not Route(receiver="r", takes_verdicts=False).takes_verdict("staging")
