"""Runs: listed, followed, read, started and cancelled."""

import pytest
import sqlalchemy as sa

from prober.domain.account import Scope
from prober.domain.campaign import Trigger
from prober.domain.finding import Reason
from prober.domain.job import JobRequest, JobState
from prober.domain.outcome import Outcome
from prober.report.facts import facts_of
from prober.report.formats import FORMATS, MEDIA_TYPES
from prober.service.pages import runs
from prober.store.database import Database
from prober.store.schema.runs import findings
from tests.support.ledger import SettableClock
from tests.support.pages import Pages, at, end, found_leak, pages_over
from tests.support.reports import a_campaign, a_leak
from tests.support.stored import finding_of


async def test_runs_are_listed_newest_first_page_by_page(pages_anywhere: Pages, monkeypatch: pytest.MonkeyPatch):
    """Those of one moment too, each once."""
    monkeypatch.setattr(runs, "PER_PAGE", 2)
    for number in range(5):
        await found_leak(pages_anywhere, run_id=f"run-{number}", started_at=at(number // 2))
    visitor = await pages_anywhere.visitor()
    seen, path = [], "/ui/runs"
    while path:
        text = (await visitor.get(path)).text
        seen += [name for name in (f"run-{number}" for number in range(5)) if f'href="/ui/runs/{name}"' in text]
        path = text.partition('rel="next" href="')[2].partition('"')[0].replace("&amp;", "&")
    assert sorted(seen) == [f"run-{number}" for number in range(5)]
    assert seen[:2] == ["run-2", "run-4"]


async def test_runs_are_filtered_by_target(pages: Pages):
    """One that is not configured any more still has its runs."""
    await found_leak(pages)
    visitor = await pages.visitor()
    assert "/ui/runs/run-1" in (await visitor.get("/ui/runs?target=staging")).text
    assert "No run of gone is kept" in (await visitor.get("/ui/runs?target=gone")).text


async def test_a_run_under_way_shows_how_far_it_has_come(pages: Pages):
    """By scenario, with what was found so far; the part that changes is asked for again and again."""
    await found_leak(pages)
    visitor = await pages.visitor()
    shown = await visitor.get("/ui/runs/run-1")
    assert "under way" in shown.text
    assert "1 of 1 probe sent so far are judged" in shown.text
    assert 'hx-get="/ui/runs/run-1/progress"' in shown.text
    part = await visitor.get("/ui/runs/run-1/progress")
    assert "<html" not in part.text
    assert "foreign_canary" in part.text
    assert "not begun" in part.text


async def test_a_violation_is_never_left_out_behind_what_is_less(pages: Pages, monkeypatch: pytest.MonkeyPatch):
    """However many findings came after it, of a run under way and of one that has ended."""
    monkeypatch.setattr(runs, "MOST_FINDINGS", 2)
    less = [finding_of(Outcome.INCONCLUSIVE, Reason.BUSY)] * 3 + [finding_of(Outcome.SUSPECT, Reason.GARBLED)] * 3
    run = await found_leak(pages, a_leak(), *less)
    visitor = await pages.visitor()
    for _ in range(2):
        text = (await visitor.get("/ui/runs/run-1")).text
        assert 'href="/ui/findings/1"' in text
        assert text.count('href="/ui/findings/') == 2
        assert "busy" not in text.partition('<h2 id="pictures"')[0]
        if "under way" in text:
            await end(pages, run)


async def test_a_run_whose_findings_are_gone_is_not_called_clean(pages: Pages):
    """The verdict stands, and the page says why nothing stands beside it."""
    run = await found_leak(pages)
    await end(pages, run)
    async with pages.api.database.begin() as connection:
        await connection.execute(sa.delete(findings))
    text = (await (await pages.visitor()).get("/ui/runs/run-1")).text
    assert "VIOLATION" in text
    assert "no longer kept" in text
    assert "Nothing but clean answers" not in text


async def test_a_run_that_has_ended_is_loaded_as_a_whole(pages: Pages):
    """The page that followed it turns into its report."""
    await end(pages, await found_leak(pages))
    visitor = await pages.visitor()
    part = await visitor.get("/ui/runs/run-1/progress")
    assert (part.headers["hx-refresh"], part.text) == ("true", "")
    shown = (await visitor.get("/ui/runs/run-1")).text
    assert "VIOLATION" in shown
    assert 'href="/ui/findings/1"' in shown
    assert "Whose text stood in whose answers" in shown
    for name in FORMATS:
        assert f"/ui/runs/run-1/report/{name}" in shown


@pytest.mark.parametrize("name", list(FORMATS))
async def test_a_report_is_the_command_lines(name: str, pages: Pages):
    """As a file of its media type."""
    await end(pages, await found_leak(pages))
    answered = await (await pages.visitor()).get(f"/ui/runs/run-1/report/{name}")
    stored = await pages.api.desk.reports.report("run-1")
    assert stored is not None
    assert answered.text == FORMATS[name](facts_of(stored))
    assert answered.headers["content-type"] == MEDIA_TYPES[name]
    assert answered.headers["content-disposition"].startswith('attachment; filename="run-run-1.')


async def test_a_run_under_way_has_no_report(pages: Pages):
    """404."""
    await found_leak(pages)
    assert (await (await pages.visitor()).get("/ui/runs/run-1/report/json")).status_code == 404


async def test_a_run_is_started_in_the_name_of_the_token(pages: Pages):
    """As configured; its page waits for it."""
    visitor = await pages.visitor(Scope.READ, Scope.RUN)
    answered = await visitor.send("/ui/targets/staging/run")
    (job,) = await pages.api.queue.listed()
    assert (job.request.target, job.request.trigger, job.request.requested_by) == ("staging", Trigger.MANUAL, "sre")
    assert answered.headers["location"] == f"/ui/runs/{job.job_id}"
    waiting = (await visitor.get(answered.headers["location"])).text
    assert "queued" in waiting
    assert "/cancel" in waiting
    assert f"/ui/runs/{job.job_id}" in (await visitor.get("/ui/runs")).text


async def test_a_button_pressed_twice_starts_one_run(pages: Pages):
    """A page loaded anew starts another one."""
    visitor = await pages.visitor()
    marks = []
    for _ in range(2):
        text = (await visitor.get("/ui/targets/staging")).text
        marks.append(text.partition('name="once" value="')[2].partition('"')[0])
    places = [
        (await visitor.send("/ui/targets/staging/run", once=mark)).headers["location"] for mark in (*marks, marks[0])
    ]
    assert places[0] == places[2] != places[1]
    assert len(await pages.api.queue.listed()) == 2


async def test_a_mark_of_another_form_starts_nothing(sqlite_database: Database, clock: SettableClock):
    """It stands for another target's run."""
    campaigns = {"staging": a_campaign(), "other": a_campaign()}
    pages = pages_over(sqlite_database, clock, campaigns=lambda: campaigns)
    visitor = await pages.visitor()
    await visitor.send("/ui/targets/staging/run", once="1234")
    assert (await visitor.send("/ui/targets/other/run", once="1234")).status_code == 422
    assert len(await pages.api.queue.listed()) == 1


async def test_a_run_of_no_target_is_not_started(pages: Pages):
    """404, and nothing is queued."""
    visitor = await pages.visitor()
    assert (await visitor.send("/ui/targets/nowhere/run")).status_code == 404
    assert await pages.api.queue.listed() == ()


async def test_what_waits_is_cancelled_at_once(pages: Pages):
    """And said to be."""
    visitor = await pages.visitor()
    job = await pages.api.queue.enqueue(JobRequest(target="staging", trigger=Trigger.MANUAL))
    answered = await visitor.send(f"/ui/runs/{job.job_id}/cancel")
    found = await pages.api.queue.find(job.job_id)
    assert found is not None
    assert found.state is JobState.CANCELLED
    assert "cancelled" in (await visitor.get(answered.headers["location"])).text
    assert (await visitor.send("/ui/runs/run-9/cancel")).status_code == 404
