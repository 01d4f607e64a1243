"""The registry of formats, and what holds for every one of them."""

import pytest

from prober.config.notifications import ReceiverKind
from prober.domain.issue import IssueChange
from prober.domain.notice import TrialNotice
from prober.notify.formats import FORMATS
from tests.support.issues import SEEN, a_notice, a_verdict_notice

SECRET = "s3cret-s3cret"
NOTICES = [*(a_notice(change) for change in IssueChange), a_verdict_notice(), TrialNotice(event_id="t", at=SEEN)]


def test_every_kind_of_receiver_has_its_format():
    """What a configuration may name can be sent."""
    assert list(FORMATS) == [kind.value for kind in ReceiverKind]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("notice", NOTICES, ids=lambda notice: type(notice).__name__)
def test_what_people_and_detectors_wrote_never_leaves(name: str, notice: object):
    """Even if a notice held it: no message, no note, no person's name in any body or header."""
    if hasattr(notice, "issue"):
        notice = a_notice(notice.change, message="words-4711", note="words-4711", changed_by="words-4711")
    for message in FORMATS[name].compose([notice], SECRET, SEEN):
        assert "4711" not in message.body.decode() + str(message.headers)
        assert SECRET not in repr(message)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_marks_a_trial_as_such(name: str):
    """Nobody is woken by a test that looks like a leak."""
    first = FORMATS[name].compose([TrialNotice(event_id="t", at=SEEN)], SECRET, SEEN)[0]

    assert "TEST" in first.body.decode()
