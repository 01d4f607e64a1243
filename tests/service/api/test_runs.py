"""Runs over the API: asked for, followed, cancelled."""

import asyncio
import dataclasses
import datetime as dt
import time
from typing import Any

import httpx
import pytest

from prober.domain.account import Scope
from prober.domain.campaign import Trigger
from prober.domain.job import JobRequest, JobState
from prober.domain.outcome import Outcome
from prober.store.ledger import SqlLedger
from tests.support.api import V1, Served
from tests.support.reports import a_leak, a_report, a_run
from tests.support.stored import ESTIMATE

RUNS = f"{V1}/runs"


async def started(client: httpx.AsyncClient, *, key: str | None = None, **order: object) -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return await client.post(RUNS, json={"target": "staging", **order}, headers=headers)


async def test_a_run_is_queued_and_found_where_it_is_said_to_be(api_anywhere: Served):
    """202 with an id and a Location that answers; the job carries what was asked for, in the token's name."""
    async with await api_anywhere.caller(Scope.RUN, Scope.READ, name="ci") as client:
        answered = await started(
            client,
            trigger="rollout",
            scenarios=["baseline"],
            max_tokens=5_000,
            rollout={"build": "b1", "url": "https://x"},
        )
        assert answered.status_code == 202
        shown = await client.get(answered.headers["location"])
    assert shown.json() == answered.json()
    assert {"state": "queued", "verdict": None, "run_id": None, "attempts": 0, "requested_by": "ci"}.items() <= (
        shown.json().items()
    )
    job = await api_anywhere.queue.find(answered.json()["id"])
    assert job is not None
    assert job.request == JobRequest(
        target="staging",
        trigger=Trigger.ROLLOUT,
        scenarios=("baseline",),
        max_run_tokens=5_000,
        requested_by="ci",
        facts={"build": "b1", "url": "https://x"},
    )


async def test_the_same_key_starts_one_run(api_anywhere: Served):
    """However often a pipeline retries: one job, one answer; without a key each request is a run of its own."""
    async with await api_anywhere.caller(Scope.RUN) as client:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(started(client, key="build-17")) for _ in range(5)]
        ids = {task.result().json()["id"] for task in tasks}
        assert {task.result().status_code for task in tasks} == {202}
        others = {(await started(client)).json()["id"] for _ in range(2)}
    assert len(ids) == 1
    assert len(others) == 2
    assert len(await api_anywhere.queue.listed()) == 3


async def test_a_key_with_another_request_is_refused(api_anywhere: Served):
    """422 (IETF draft idempotency-key-header, section 2.7): the caller mistakes one run for another."""
    async with await api_anywhere.caller(Scope.RUN) as client:
        await started(client, key="build-17")
        answered = await started(client, key="build-17", scenarios=["baseline"])
    assert answered.status_code == 422
    assert answered.json()["type"].endswith(":idempotency-key-reused")
    assert len(await api_anywhere.queue.listed()) == 1


async def test_keys_of_two_tokens_are_two_keys(api: Served):
    """Nobody gets, or blocks, another one's run by guessing its key."""
    first, second = await api.caller(Scope.RUN, name="a"), await api.caller(Scope.RUN, name="b")
    ids = {(await started(client, key="build-17")).json()["id"] for client in (first, second)}
    assert len(ids) == 2


@pytest.mark.parametrize("key", ["", "a b", "ä", "x" * 129])
async def test_a_key_that_is_none_is_refused(api: Served, key: str):
    """1 to 128 printable ASCII characters: others are mangled on the way, and would name another run."""
    async with await api.caller(Scope.RUN) as client:
        headers = {"Idempotency-Key": key.encode()}
        answered = await client.post(RUNS, json={"target": "staging"}, headers=headers)
    assert answered.status_code == 422
    assert await api.queue.listed() == ()


@pytest.mark.parametrize(
    ("order", "where"),
    [
        ({"target": "production"}, "body.target"),
        ({"scenarios": ["baseline", "nothing"]}, "body.scenarios"),
        ({"scenarios": ["baseline", "baseline"]}, "body.scenarios"),
        ({"max_tokens": 25_000_001}, "body.max_tokens"),
        ({"trigger": "schedule"}, "body.trigger"),
        ({"rollout": {f"k{number}": "v" for number in range(17)}}, "body.rollout"),
        ({"rollout": {"note": "a\nb"}}, "body.rollout"),
        ({"rollout": {"a b": "c"}}, "body.rollout"),
    ],
)
async def test_what_could_only_fail_later_is_refused_at_once(api: Served, order: dict[str, object], where: str):
    """Unknown names, a cap above the operator's, a trigger that is not the caller's, facts without bound."""
    async with await api.caller(Scope.RUN) as client:
        answered = await started(client, **order)
    assert answered.status_code == 422
    assert [flaw["where"] for flaw in answered.json()["flaws"]] == [where]
    assert await api.queue.listed() == ()


async def test_the_operators_cap_may_be_used_to_the_token(api: Served):
    """The bound itself is allowed."""
    async with await api.caller(Scope.RUN) as client:
        assert (await started(client, max_tokens=25_000_000)).status_code == 202


@pytest.mark.alone
async def test_a_start_takes_less_than_a_second_behind_a_queue(api_anywhere: Served):
    """With eight runs waiting and one at work, which writes all the time, an id comes within a second."""
    async with await api_anywhere.caller(Scope.RUN) as client:
        for _ in range(8):
            await started(client)
        job = await api_anywhere.queue.claim(["staging"], dt.timedelta(minutes=1))
        assert job is not None

        is_over = asyncio.Event()

        async def work() -> None:
            while not is_over.is_set():
                await api_anywhere.queue.extend(job, dt.timedelta(minutes=1))

        async with asyncio.TaskGroup() as group:
            group.create_task(work())
            begun = time.monotonic()
            answered = await started(client)
            took = time.monotonic() - begun
            is_over.set()
    assert answered.status_code == 202
    assert took < 1


async def ended(api: Served, run_id: str, outcome: Outcome | None = None) -> str:
    """A job with a run of this id; closed where there is an outcome."""
    request = JobRequest(target="staging", trigger=Trigger.MANUAL, requested_by="ci")
    queued = await api.queue.enqueue(request)
    job = await api.queue.claim(["staging"], dt.timedelta(minutes=1))
    assert job is not None
    assert job.job_id == queued.job_id
    ledger = SqlLedger(api.database, api.clock)
    run = a_run(run_id=run_id)
    await ledger.open_run(run, ESTIMATE)
    await api.queue.attach(job, run_id)
    if outcome is not None:
        verdict = dataclasses.replace(a_report().verdict, outcome=outcome, leak_rate_upper95=0.348)
        await ledger.close_run(a_report(run=run, verdict=verdict, findings=()))
        await api.queue.settle(job, outcome)
    return job.job_id


async def test_a_verdict_comes_with_reasons_bound_and_spending(api_anywhere: Served):
    """What a pipeline decides by: `verdict`; what it shows: why, how sure, how dear."""
    job_id = await ended(api_anywhere, "run-7", Outcome.VIOLATION)
    async with await api_anywhere.caller(Scope.READ) as client:
        shown: dict[str, Any] = (await client.get(f"{RUNS}/{job_id}")).json()
    expected = {
        "state": "done",
        "verdict": "violation",
        "run_id": "run-7",
        "attempts": 1,
        "reasons": ["foreign_canary", "served_over_limit"],
        "bound": {"probes": 9, "conclusive": 8, "clean": 7, "leak_rate_upper95": 0.348},
        "spent": {"requests": 9, "prompt_tokens": 1_900_000, "output_tokens": 512, "tokens": 1_900_512},
        "scenarios": ["baseline", "seed_and_probe"],
    }
    assert expected.items() <= shown.items()
    assert shown["started_at"] == "2026-09-01T12:00:00Z"


async def test_a_run_at_work_has_no_verdict_yet(api: Served):
    """`null` is neither of a gate's conditions: it goes on waiting."""
    job_id = await ended(api, "run-7")
    async with await api.caller(Scope.READ) as client:
        shown = (await client.get(f"{RUNS}/{job_id}")).json()
    assert (shown["state"], shown["verdict"], shown["reasons"], shown["bound"], shown["spent"]) == (
        "running",
        None,
        [],
        None,
        None,
    )


async def test_a_run_of_the_command_line_is_found_by_its_id(api: Served):
    """`prober run` tells the same id; the queue never saw it."""
    ledger = SqlLedger(api.database, api.clock)
    await ledger.open_run(a_run(run_id="run-9"), ESTIMATE)
    async with await api.caller(Scope.READ) as client:
        at_work = (await client.get(f"{RUNS}/run-9")).json()
        await ledger.close_run(a_report(run=a_run(run_id="run-9"), findings=(a_leak(probe_label=""),)))
        shown = (await client.get(f"{RUNS}/run-9")).json()
        listed = (await client.get(RUNS)).json()
    assert (at_work["id"], at_work["state"], at_work["verdict"]) == ("run-9", "running", None)
    assert (shown["state"], shown["verdict"], shown["trigger"]) == ("done", "violation", "manual")
    assert shown["bound"]["clean"] == 7
    assert listed["items"] == []


async def test_runs_are_listed_page_by_page(api_anywhere: Served):
    """Newest first, each once, whatever is queued meanwhile; no page but the last looks like the last."""
    async with await api_anywhere.caller(Scope.READ, Scope.RUN) as client:
        ids = [(await started(client)).json()["id"] for _ in range(5)]
        seen, sizes, cursor = [], [], None
        while True:
            parameters = {"limit": "2"} | ({} if cursor is None else {"cursor": cursor})
            page = (await client.get(RUNS, params=parameters)).json()
            seen += [item["id"] for item in page["items"]]
            sizes.append(len(page["items"]))
            cursor = page["next"]
            if cursor is None:
                break
            await started(client)
        lost = await client.get(RUNS, params={"cursor": "run-of-nobody"})
    assert seen == ids[::-1]
    assert sizes == [2, 2, 1]
    assert (lost.status_code, lost.json()["flaws"][0]["where"]) == (422, "query.cursor")


async def test_runs_are_filtered(api: Served):
    """By target and by state."""
    async with await api.caller(Scope.READ, Scope.RUN) as client:
        waiting = (await started(client)).json()["id"]
        cancelled = (await started(client)).json()["id"]
        await client.post(f"{RUNS}/{cancelled}/cancel")

        async def ids(**filters: str) -> list[str]:
            return [item["id"] for item in (await client.get(RUNS, params=filters)).json()["items"]]

        assert await ids(state="queued") == [waiting]
        assert await ids(state="cancelled", target="staging") == [cancelled]
        assert await ids(target="production") == []


async def test_a_waiting_run_is_cancelled_at_once(api_anywhere: Served):
    """It never begins; doing so twice is no fault."""
    async with await api_anywhere.caller(Scope.RUN, name="ci") as client:
        run_id = (await started(client)).json()["id"]
        answers = [await client.post(f"{RUNS}/{run_id}/cancel") for _ in range(2)]
    assert [answered.status_code for answered in answers] == [200, 200]
    assert answers[0].json()["state"] == "cancelled"
    assert "ci" in answers[0].json()["note"]
    assert await api_anywhere.queue.claim(["staging"], dt.timedelta(minutes=1)) is None


async def test_a_run_at_work_is_asked_to_end(api_anywhere: Served):
    """Its holder ends it at the next wave: it stays running, and says that it was asked."""
    job_id = await ended(api_anywhere, "run-7")
    async with await api_anywhere.caller(Scope.RUN) as client:
        shown = (await client.post(f"{RUNS}/{job_id}/cancel")).json()
    assert (shown["state"], shown["is_cancel_requested"]) == ("running", True)


async def test_a_run_that_has_ended_stays_as_it_is(api: Served):
    """A verdict is not taken back."""
    job_id = await ended(api, "run-7", Outcome.CLEAN)
    async with await api.caller(Scope.RUN) as client:
        shown = (await client.post(f"{RUNS}/{job_id}/cancel")).json()
    assert (shown["state"], shown["verdict"]) == ("done", "clean")


@pytest.mark.parametrize("run_id", ["nobody", "0" * 64, "5d0f4f2e-6c3b-4b7e-9d0a-2f1d7c9a8b10"])
async def test_nobodys_run_is_404(api: Served, run_id: str):
    """To show and to cancel."""
    async with await api.caller(Scope.READ, Scope.RUN) as client:
        assert (await client.get(f"{RUNS}/{run_id}")).status_code == 404
        assert (await client.post(f"{RUNS}/{run_id}/cancel")).status_code == 404


async def test_a_missed_slot_says_why(api: Served):
    """A schedule's gap is visible where its runs are."""
    job = await api.queue.enqueue(JobRequest(target="staging", trigger=Trigger.SCHEDULE, requested_by="schedule"))
    shown = dataclasses.replace(job, state=JobState.MISSED, note="down")

    async def find(job_id: str) -> object:
        return shown if job_id == job.job_id else None

    api.queue.find = find  # type: ignore[method-assign, assignment]
    async with await api.caller(Scope.READ) as client:
        found = (await client.get(f"{RUNS}/{job.job_id}")).json()
    assert (found["state"], found["note"], found["trigger"]) == ("missed", "down", "schedule")
