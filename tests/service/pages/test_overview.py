"""The first page tells where each target stands."""

import dataclasses
import datetime as dt

import pytest

from prober.domain.budget import Cap, Standing, Unit, Window
from prober.domain.campaign import Trigger
from prober.domain.finding import Reason
from prober.domain.issue import IssueState
from prober.domain.job import JobRequest
from prober.domain.outcome import Outcome
from prober.service.api.desk import Schedule
from prober.service.pages import overview
from prober.service.pages.overview import next_of, open_issues, streak_of
from prober.store.database import Database
from prober.store.rows import StoredRun
from tests.support.issues import an_issue
from tests.support.ledger import SettableClock
from tests.support.pages import Pages, at, end, found_leak, pages_over
from tests.support.reports import a_clean_report, a_leak

NOW = dt.datetime(2026, 9, 1, 12, tzinfo=dt.UTC)


def ended(outcome: Outcome, number: int) -> StoredRun:
    return StoredRun(
        run_id=f"run-{number}",
        target="staging",
        build="",
        started_at=at(number),
        ended_at=at(number + 0.1),
        outcome=outcome,
        reasons=(),
        probes=9,
        spent=None,
    )


def test_a_verdict_holds_since_the_first_of_the_latest_runs_with_it():
    """An older run of the same verdict, before another one, does not count."""
    kinds = (Outcome.CLEAN, Outcome.CLEAN, Outcome.VIOLATION, Outcome.CLEAN)
    runs = [ended(outcome, 9 - place) for place, outcome in enumerate(kinds)]
    assert [run.run_id for run in streak_of(runs)] == ["run-9", "run-8"]
    assert streak_of([]) == []


def test_only_issues_that_nobody_settled_are_open():
    """Acknowledged ones count, suppressed and resolved ones do not."""
    issues = [an_issue(state=state) for state in IssueState]
    assert open_issues(issues) == {Outcome.VIOLATION: 2}


def test_the_next_run_is_the_soonest_of_all_schedules():
    """Of those that name the target and are not paused."""
    schedules = [
        Schedule(name=name, targets=targets, when="", next_at=next_at)
        for name, targets, next_at in (
            ("late", ("staging",), NOW + dt.timedelta(hours=2)),
            ("soon", ("staging", "other"), NOW + dt.timedelta(hours=1)),
            ("paused", ("staging",), None),
            ("elsewhere", ("other",), NOW),
        )
    ]
    found = next_of(schedules, "staging")
    assert found is not None
    assert found.name == "soon"
    assert next_of(schedules, "nowhere") is None


async def test_a_target_shows_its_verdict_bound_and_issues(pages: Pages):
    """With links to what made it so."""
    await end(pages, await found_leak(pages))
    clean = dataclasses.replace(a_clean_report())
    await end(pages, await found_leak(pages, run_id="run-2", started_at=at(1)), clean)
    text = (await (await pages.visitor()).get("/ui/")).text
    assert "CLEAN" in text
    assert 'href="/ui/runs/run-2"' in text
    assert f"below {clean.verdict.leak_rate_upper95:.2%} per probe" in text
    assert "1 VIOLATION" in text
    assert 'href="/ui/issues?target=staging"' in text
    assert "2026-09-01 13:00:00 UTC" in text


@pytest.mark.parametrize("outcome", list(Outcome))
async def test_a_clean_verdict_of_long_ago_is_not_green(outcome: Outcome, pages: Pages):
    """Nobody has looked since: it is told with its age. What was worse stands until it is mended."""
    report = a_clean_report()
    verdict = dataclasses.replace(report.verdict, outcome=outcome)
    await end(pages, await found_leak(pages), dataclasses.replace(report, verdict=verdict))
    pages.api.clock.advance(3 * 86_400)
    text = (await (await pages.visitor()).get("/ui/")).text
    is_coloured = f'<span class="verdict {outcome.value}">' in text
    assert is_coloured is (outcome is not Outcome.CLEAN)
    assert ('<span class="verdict none">CLEAN 2 days ago</span>' in text) is (outcome is Outcome.CLEAN)


async def test_an_open_issue_is_counted_behind_any_number_of_settled_ones(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
):
    """However many were opened and settled since."""
    monkeypatch.setattr(overview, "_MOST_ISSUES", 1)
    await found_leak(pages, a_leak(), a_leak(reason=Reason.LATE_ECHO))
    await pages.api.desk.issues.resolve(2, "sre")
    assert "1 VIOLATION" in (await (await pages.visitor()).get("/ui/")).text


async def test_that_a_verdict_may_hold_for_longer_is_said_during_a_run_too(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
):
    """Where all runs that were looked at have it."""
    monkeypatch.setattr(overview, "MOST_RUNS", 2)
    await end(pages, await found_leak(pages))
    visitor = await pages.visitor()
    assert "or longer" not in (await visitor.get("/ui/")).text
    await found_leak(pages, run_id="run-2", started_at=at(1))
    assert "or longer" in (await visitor.get("/ui/")).text


async def test_budget_and_next_run_are_told(sqlite_database: Database, clock: SettableClock):
    """Of the cap with least left; a run that waits or is under way comes before the schedule."""
    caps = (
        Cap(window=Window.DAY, unit=Unit.TOKENS, limit=1_000, target="staging"),
        Cap(window=Window.HOUR, unit=Unit.MONEY, limit=10_000_000),
    )
    standings = [
        Standing(cap=cap, tenant=None, spent=cap.limit // 2 + extra, frees_at=NOW) for extra, cap in enumerate(caps)
    ]
    pages = pages_over(sqlite_database, clock, standings)
    visitor = await pages.visitor()
    text = (await visitor.get("/ui/")).text
    assert "5.00 of 10.00 EUR left this hour, of all targets" in text
    assert "schedule nightly" in text

    await pages.api.queue.enqueue(JobRequest(target="staging", trigger=Trigger.MANUAL))
    assert "one is waiting" in (await visitor.get("/ui/")).text
    await found_leak(pages)
    assert "one is under way" in (await visitor.get("/ui/")).text


async def test_a_global_stop_is_told_first(pages: Pages):
    """By whom, and what ends it."""
    await pages.api.desk.switches.stop("<b>sre</b>")
    text = (await (await pages.visitor()).get("/ui/")).text
    assert "All probing is stopped" in text
    assert "&lt;b&gt;sre&lt;/b&gt;" in text


@pytest.mark.parametrize("outcome", list(Outcome))
async def test_verdicts_are_words_not_colours_alone(outcome: Outcome, pages: Pages):
    """Whoever sees no colours reads the same."""
    report = a_clean_report()
    verdict = dataclasses.replace(report.verdict, outcome=outcome)
    await end(pages, await found_leak(pages), dataclasses.replace(report, verdict=verdict))
    assert (
        f'<span class="verdict {outcome.value}">{outcome.name}</span>'
        in (await (await pages.visitor()).get("/ui/")).text
    )
