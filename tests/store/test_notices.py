"""Notices as rows of the outbox."""

import datetime as dt

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from prober.domain.errors import LedgerError
from prober.domain.finding import Reason
from prober.domain.issue import IssueChange, IssueState
from prober.domain.notice import Donor, IssueNotice, Route, TrialNotice, VerdictNotice
from prober.domain.outcome import Outcome
from prober.store.database import Database
from prober.store.notices import facts_of, notice_of, put
from prober.store.schema.issues import notices
from tests.support.issues import SEEN, a_notice, a_verdict_notice, an_issue

DATES = st.datetimes(timezones=st.just(dt.UTC))
TEXTS = st.text(max_size=20)
ISSUES = st.builds(
    an_issue,
    reason=st.sampled_from(Reason),
    outcome=st.sampled_from(Outcome),
    state=st.sampled_from(IssueState),
    first_seen=DATES,
    last_seen=DATES,
    opened_at=st.none() | DATES,
    suppressed_until=st.none() | DATES,
    count=st.integers(0, 2**62),
    kinds=st.lists(TEXTS).map(tuple),
    evidence_bits=st.floats(0, 1e6),
)
NOTICES = st.one_of(
    st.builds(
        IssueNotice,
        event_id=TEXTS,
        at=DATES,
        change=st.sampled_from(IssueChange),
        issue=ISSUES,
        donors=st.lists(st.builds(Donor, canary=TEXTS, tenant=TEXTS, run_id=TEXTS)).map(tuple),
    ),
    st.builds(
        VerdictNotice,
        event_id=TEXTS,
        at=DATES,
        run_id=TEXTS,
        target=TEXTS,
        build=TEXTS,
        outcome=st.sampled_from(Outcome),
        reasons=st.lists(st.sampled_from(Reason)).map(tuple),
    ),
    st.builds(TrialNotice, event_id=TEXTS, at=DATES),
)


@given(NOTICES)
def test_a_notice_comes_back_as_it_was(notice: object):
    """Whatever it says, the facts stored say the same."""
    assert notice_of(facts_of(notice)) == notice


def test_what_people_and_detectors_wrote_is_left_out():
    """Messages, notes and names of people are no facts of a notice."""
    notice = a_notice(message="m-4711", note="n-4711", changed_by="b-4711")

    assert "4711" not in str(facts_of(notice))
    assert notice_of(facts_of(notice)) == a_notice()


def test_facts_of_another_version_are_taken_as_far_as_they_go():
    """A field more does not matter during an upgrade; a code that is not known does, and is not guessed."""
    facts = facts_of(a_notice())
    more = {**facts, "extra": 1, "issue": {**facts["issue"], "extra": 1}}
    assert notice_of(more) == a_notice()

    for broken in ({**facts, "kind": "poem"}, {**facts, "change": "dissolved"}, {"kind": "verdict"}):
        with pytest.raises(LedgerError, match="newer version"):
            notice_of(broken)


async def rows(database: Database) -> list[tuple[str, str]]:
    async with database.read() as connection:
        found = await connection.execute(sa.select(notices.c.event_id, notices.c.receiver).order_by(notices.c.id))
        return [(row.event_id, row.receiver) for row in found]


@pytest.mark.parametrize(
    ("route", "takes"),
    [
        (Route(receiver="r"), (True, True, True)),
        (Route(receiver="r", min_outcome=Outcome.VIOLATION), (True, False, True)),
        (Route(receiver="r", targets=frozenset({"staging"})), (True, True, True)),
        (Route(receiver="r", targets=frozenset({"other"})), (False, False, False)),
        (Route(receiver="r", takes_verdicts=False), (True, True, False)),
    ],
)
async def test_a_receiver_gets_what_its_route_takes(database: Database, route: Route, takes: tuple[bool, ...]):
    """By target and least outcome; verdicts of rollouts whatever their outcome, where it takes any."""
    told = [
        a_notice(event_id="violation"),
        a_notice(event_id="suspicion", outcome=Outcome.SUSPECT),
        a_verdict_notice(event_id="verdict", outcome=Outcome.CLEAN),
    ]
    async with database.begin() as connection:
        for notice in told:
            await put(connection, notice, (route,))

    assert await rows(database) == [
        (notice.event_id, "r") for notice, is_taken in zip(told, takes, strict=True) if is_taken
    ]


async def test_one_row_for_each_receiver_and_event(database: Database):
    """An event that is put twice is there once, also for a receiver that is new the second time."""
    async with database.begin() as connection:
        await put(connection, a_notice(), (Route(receiver="a"),))
        await put(connection, a_notice(), (Route(receiver="a"), Route(receiver="b")))
        await put(connection, TrialNotice(event_id="trial", at=SEEN), (Route(receiver="a"),))

    assert await rows(database) == [("event-1", "a"), ("event-1", "b"), ("trial", "a")]
