"""Issues: read by many, changed by some, in their own name."""

import datetime as dt

import pytest

from prober.domain.account import Scope
from prober.domain.finding import Reason
from prober.domain.issue import IssueState
from prober.domain.outcome import Outcome
from prober.service.api.parameters import MOST_NOTE
from prober.service.pages import issues
from prober.store.ledger import SqlLedger
from tests.support.pages import Pages, found_leak
from tests.support.reports import a_leak
from tests.support.stored import CHECK, PROMPT, finding_of, judged, opened


async def state(pages: Pages) -> IssueState:
    issue = await pages.api.desk.issues.find(1)
    assert issue is not None
    return issue.state


@pytest.mark.parametrize(
    ("step", "settled"), [("acknowledge", IssueState.ACKNOWLEDGED), ("resolve", IssueState.RESOLVED)]
)
async def test_a_step_is_taken_in_the_tokens_name(step: str, settled: IssueState, pages_anywhere: Pages):
    """With the note that was written, over both databases."""
    await found_leak(pages_anywhere)
    visitor = await pages_anywhere.visitor(Scope.READ, Scope.ADMIN)
    answered = await visitor.send(f"/ui/issues/1/{step}", note="rolled back\r\nsee INC-1")
    assert answered.headers["location"] == "/ui/issues/1"
    assert await state(pages_anywhere) is settled
    entry = (await pages_anywhere.api.desk.issues.history(1))[-1]
    assert (entry.by, entry.note) == ("sre", "rolled back\nsee INC-1")
    shown = (await visitor.get("/ui/issues/1")).text
    assert "see INC-1" in shown
    assert settled.value in shown


async def test_an_issue_is_accepted_until_a_day(pages: Pages):
    """Which is over at midnight; why has to be said."""
    await found_leak(pages)
    visitor = await pages.visitor()
    await visitor.send("/ui/issues/1/suppress", until="2026-09-15", note="fixed in the next release")
    issue = await pages.api.desk.issues.find(1)
    assert issue is not None
    assert (issue.state, issue.suppressed_until) == (IssueState.SUPPRESSED, dt.datetime(2026, 9, 15, tzinfo=dt.UTC))
    assert "until 2026-09-15" in (await visitor.get("/ui/issues")).text


@pytest.mark.parametrize(
    ("step", "fields"),
    [
        ("suppress", {"until": "", "note": "x"}),
        ("suppress", {"until": "tomorrow", "note": "x"}),
        ("suppress", {"until": "2026-09-01", "note": "x"}),
        ("suppress", {"until": "2028-01-01", "note": "x"}),
        ("suppress", {"until": "2026-09-15", "note": " "}),
        ("note", {"note": ""}),
        ("note", {}),
        ("acknowledge", {"note": "x" * (MOST_NOTE + 1)}),
        ("acknowledge", {"note": "\x00"}),
        ("resolve", {"note": "\x1b[2J"}),
    ],
)
async def test_what_cannot_be_meant_is_refused_and_changes_nothing(step: str, fields: dict[str, str], pages: Pages):
    """422, in words that say what to write."""
    await found_leak(pages)
    answered = await (await pages.visitor()).send(f"/ui/issues/1/{step}", **fields)
    assert answered.status_code == 422
    assert "<h1>" in answered.text
    assert await state(pages) is IssueState.OPEN
    assert len(await pages.api.desk.issues.history(1)) == 1


async def test_who_may_not_change_is_shown_no_forms(pages: Pages):
    """But is told which scope it takes."""
    await found_leak(pages)
    text = (await (await pages.visitor(Scope.READ)).get("/ui/issues/1")).text
    assert 'action="/ui/issues/' not in text
    assert "scope <code>admin</code>" in text


async def test_issues_are_filtered_and_listed_page_by_page(pages: Pages, monkeypatch: pytest.MonkeyPatch):
    """Filters go along to the older ones; one that is none filters nothing."""
    monkeypatch.setattr(issues, "PER_PAGE", 1)
    ledger = SqlLedger(pages.api.database, pages.api.clock)
    run = await opened(ledger)
    await ledger.remember(run, [(CHECK, PROMPT)])
    suspicion = finding_of(Outcome.SUSPECT, Reason.PREFILL_TOO_FAST)
    await ledger.record(run, judged(a_leak(), a_leak(reason=Reason.LATE_ECHO), suspicion))
    visitor = await pages.visitor()
    first = (await visitor.get("/ui/issues?target=staging&state=open&outcome=violation")).text
    older = first.partition('rel="next" href="')[2].partition('"')[0].replace("&amp;", "&")
    assert "state=open" in older
    assert "target=staging" in older
    second = (await visitor.get(older)).text
    assert 'rel="next"' not in second
    numbers = {number for number in range(1, 4) for text in (first, second) if f'href="/ui/issues/{number}"' in text}
    assert len(numbers) == 2
    assert "No issue like that" in (await visitor.get("/ui/issues?state=suppressed")).text
    assert (await visitor.get("/ui/issues?state=nonsense&before=xyz&outcome=%00")).status_code == 200


async def test_a_step_on_no_issue_is_404(pages: Pages):
    """Nothing is made up."""
    assert (await (await pages.visitor()).send("/ui/issues/9/acknowledge")).status_code == 404
