"""The judge of `make reliability` sees what it is there to see."""

import dataclasses
import datetime as dt
from collections.abc import Callable, Sequence

import pytest

from reliability import judging
from reliability.chaos import Disturbance, Kind
from reliability.judging import Evidence
from reliability.ledger_facts import JobFacts, RunFacts
from reliability.orders import Accepted, Order

BEGAN = dt.datetime(2026, 9, 1, 12, 0, 5, tzinfo=dt.UTC)
KILLED = BEGAN + dt.timedelta(seconds=30)


def at(seconds: float) -> dt.datetime:
    return BEGAN + dt.timedelta(seconds=seconds)


def a_job(number: int, target: str = "healthy-00", **facts: object) -> JobFacts:
    job = JobFacts(
        number=number,
        job_id=f"job-{number}",
        target=target,
        slot=None,
        key=None,
        state="done",
        attempts=1,
        fence=1,
        run_id=f"run-{number}",
        outcome="violation" if target.startswith("faulty") else "clean",
        note="",
    )
    return dataclasses.replace(job, **facts)


def a_run(job: int, opened: float, target: str = "healthy-00", **facts: object) -> RunFacts:
    is_faulty = target.startswith("faulty")
    run = RunFacts(
        run_id=f"run-{job}",
        target=target,
        outcome="violation" if is_faulty else "clean",
        reasons=("foreign_canary", "served_over_limit", "garbled") if is_faulty else ("served",),
        is_ended=True,
        job=job,
        fence=1,
        opened=at(opened),
        closed=at(opened + 3),
        latest_write=at(opened + 3),
    )
    return dataclasses.replace(run, **facts)


def interrupted(job: int, opened: float, closed: float, **facts: object) -> RunFacts:
    lost = {"outcome": "inconclusive", "reasons": ("interrupted",), "closed": at(closed), "latest_write": at(opened)}
    return a_run(job, opened, run_id=f"run-{job}-lost", **(lost | facts))


SLOTS = [f"healthy/healthy-00/2026-09-01T12:00:{second}+00:00" for second in (10, 20)]

JOBS = (
    a_job(1, slot=SLOTS[0]),
    a_job(2, slot=SLOTS[1], attempts=2, fence=2),
    a_job(3, "faulty-00", key="order-0"),
)
RUNS = (
    a_run(1, 6),
    interrupted(2, 28, 45),
    a_run(2, 46, fence=2),
    a_run(3, 8, "faulty-00"),
)
SOUND = Evidence(
    began={("healthy", "healthy-00"): BEGAN},
    ended={("healthy", "healthy-00"): at(15)},
    every=dt.timedelta(seconds=10),
    accepted=(Accepted(Order("order-0", "faulty-00", 0.0), "job-3", 2),),
    done=(Disturbance(kind=Kind.KILL, began=KILLED, ended=at(33), could_interrupt=1),),
    jobs=JOBS,
    runs=RUNS,
)

CHECKS: dict[str, Callable[[Evidence], Sequence[str]]] = {
    "slots": judging.lost_or_invented_slots,
    "orders": judging.lost_orders,
    "doubled": judging.doubled_jobs,
    "verdicts": judging.without_verdict,
    "open": judging.open_runs,
    "unexplained": lambda evidence: judging.explained(evidence)[1],
    "wrong": judging.wrong_verdicts,
    "late": judging.late_writes,
    "fences": judging.broken_fences,
    "double probing": judging.double_probing,
}


def jobs(number: int, **facts: object) -> dict[str, object]:
    """One job is otherwise."""
    return {"jobs": tuple(dataclasses.replace(job, **facts) if job.number == number else job for job in JOBS)}


def runs(run_id: str, **facts: object) -> dict[str, object]:
    """One run is otherwise."""
    return {"runs": tuple(dataclasses.replace(run, **facts) if run.run_id == run_id else run for run in RUNS)}


@pytest.mark.parametrize("check", CHECKS)
def test_sound_evidence_passes(check: str):
    """What is as it should be is found wrong by no check."""
    assert list(CHECKS[check](SOUND)) == []


@pytest.mark.parametrize(
    ("check", "change"),
    [
        pytest.param("slots", {"jobs": JOBS[1:]}, id="a slot is lost"),
        pytest.param("slots", jobs(1, slot=f"{SLOTS[0][:-8]}1+00:00"), id="a slot is invented"),
        pytest.param("slots", {"ended": {("healthy", "healthy-00"): at(25)}}, id="the latest slot is lost"),
        pytest.param("orders", {"jobs": JOBS[:2]}, id="an accepted order is lost"),
        pytest.param("orders", {"jobs": (*JOBS, a_job(4, key="order-0"))}, id="an order is doubled"),
        pytest.param("orders", {"jobs": (*JOBS, a_job(4, key="order-9"))}, id="an order that nobody gave"),
        pytest.param("doubled", {"runs": (*RUNS, a_run(1, 60, run_id="again"))}, id="a slot is run twice"),
        pytest.param("verdicts", jobs(1, state="queued", outcome=None), id="a job still waits"),
        pytest.param("verdicts", jobs(1, state="missed", note=""), id="missed for no reason"),
        pytest.param("verdicts", jobs(3, state="missed", note="late"), id="an order is missed"),
        pytest.param("verdicts", jobs(3, outcome="clean"), id="the job says otherwise than its run"),
        pytest.param("open", runs("run-1", is_ended=False), id="a run is open"),
        pytest.param("open", runs("run-1", job=None), id="a run of no job"),
        pytest.param("unexplained", {"done": ()}, id="interrupted by nothing"),
        pytest.param("unexplained", runs("run-2-lost", opened=at(35)), id="begun after the kill"),
        pytest.param("unexplained", {"runs": (*RUNS, interrupted(1, 29, 44))}, id="more than could be under way there"),
        pytest.param("wrong", runs("run-3", outcome="clean"), id="a leak is judged clean"),
        pytest.param("wrong", runs("run-3", outcome="inconclusive"), id="a leak is judged inconclusive"),
        pytest.param("wrong", runs("run-3", reasons=("served_over_limit",)), id="a leak is not attributed"),
        pytest.param("wrong", runs("run-1", outcome="violation"), id="a false alarm"),
        pytest.param("wrong", runs("run-1", outcome="inconclusive"), id="inconclusive without a kill"),
        pytest.param("wrong", runs("run-2-lost", outcome="clean"), id="an interrupted run is judged clean"),
        pytest.param("late", runs("run-2-lost", latest_write=at(50)), id="the lost replica wrote"),
        pytest.param("fences", runs("run-2", fence=1), id="two attempts under one fence"),
        pytest.param("fences", jobs(2, run_id="run-2-lost"), id="the lost replica had the last word"),
        pytest.param("fences", runs("run-2", opened=at(40)), id="two attempts at once"),
        pytest.param("double probing", runs("run-2", opened=at(8), closed=at(47)), id="two runs on one target"),
    ],
)
def test_what_is_wrong_is_found(check: str, change: dict[str, object]):
    """Each promise of docs/service.md has a check that fails once it is broken."""
    assert list(CHECKS[check](dataclasses.replace(SOUND, **change))) != []


def test_a_take_over_is_timed_from_the_kill():
    """From the kill of its replica to the end of the run that it left behind; without one it is unknown."""
    assert judging.longest_take_over(SOUND) == pytest.approx(15)
    quiet = dataclasses.replace(SOUND, done=())
    assert judging.longest_take_over(quiet) != judging.longest_take_over(quiet)
