"""Whether three replicas did what docs/service.md promises: judged from the database alone."""

import collections
import dataclasses
import datetime as dt
import itertools
from collections.abc import Iterator, Mapping, Sequence

from reliability.chaos import Disturbance, Kind
from reliability.ledger_facts import Cursors, JobFacts, RunFacts
from reliability.orders import Accepted

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
FAULTY, HEALTHY = "faulty", "healthy"
"""Schedules, and how the names of their targets begin."""

LEAK_REASONS = frozenset({"served_over_limit", "foreign_canary"})
"""What the built-in fault is known by: the prompt should have been refused, and its answer is another one's text."""

MISSED_REASONS = frozenset({"down", "late", "overlap"})
"""Why a slot may have been missed here: nobody paused, stopped, wanted quiet, or broke the targets."""

MOMENT = dt.timedelta(seconds=1)
"""Between what the harness did and what a process noticed of it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was asked for, what was done to those who ran it, and what the database holds in the end."""

    began: Cursors
    """When the schedules began."""
    ended: Cursors
    every: dt.timedelta
    accepted: Sequence[Accepted]
    done: Sequence[Disturbance]
    jobs: Sequence[JobFacts]
    runs: Sequence[RunFacts]


def slots_due(evidence: Evidence) -> set[str]:
    """Name every slot between the schedules' beginning and end, computed apart from the prober."""
    return {
        f"{schedule}/{target}/{nominal.isoformat()}"
        for (schedule, target), reached in evidence.ended.items()
        for nominal in _multiples(evidence.began[schedule, target], reached, evidence.every)
    }


def _multiples(after: dt.datetime, until: dt.datetime, every: dt.timedelta) -> Iterator[dt.datetime]:
    nominal = EPOCH + ((after - EPOCH) // every + 1) * every
    while nominal <= until:
        yield nominal
        nominal += every


def lost_or_invented_slots(evidence: Evidence) -> list[str]:
    """Slots that were due and are not there, and such as are there and were not due."""
    stored = {job.slot for job in evidence.jobs if job.slot is not None}
    return sorted(slots_due(evidence) ^ stored)


def lost_orders(evidence: Evidence) -> list[str]:
    """Accepted orders whose job is not there, or whose key stands at another one."""
    by_key = collections.defaultdict(list)
    for job in evidence.jobs:
        if job.key is not None:
            by_key[job.key].append(job.job_id)
    asked = {each.order.key for each in evidence.accepted}
    wrong = [each.order.key for each in evidence.accepted if by_key[each.order.key] != [each.job_id]]
    return wrong + sorted(set(by_key) - asked)


def doubled_jobs(evidence: Evidence) -> list[str]:
    """Jobs that came to more than one verdict."""
    finished = collections.Counter(run.job for run in evidence.runs if not run.is_interrupted)
    return [job.job_id for job in evidence.jobs if finished[job.number] > 1]


def without_verdict(evidence: Evidence) -> list[str]:
    """Jobs that neither have a verdict nor say why they were missed, or whose verdict is not their run's."""
    verdicts = {run.run_id: run.outcome for run in evidence.runs}
    return [job.job_id for job in evidence.jobs if not _has_verdict(job, verdicts)]


def _has_verdict(job: JobFacts, verdicts: Mapping[str, str | None]) -> bool:
    if job.state == "missed":
        return job.slot is not None and job.note in MISSED_REASONS
    if job.state != "done" or job.outcome is None:
        return False
    return job.run_id is None or verdicts[job.run_id] == job.outcome


def is_given_up(job: JobFacts) -> bool:
    """Its attempts are used up, all of them interrupted."""
    return job.note.startswith("given up")


def wrong_verdicts(evidence: Evidence) -> list[str]:
    """Runs that came to their end with another verdict than their lab deserves, or for other reasons."""
    return [f"{run.target}: {run.outcome} {run.reasons}" for run in evidence.runs if not _is_right(run)]


def _is_right(run: RunFacts) -> bool:
    if run.target.startswith(HEALTHY):
        return run.outcome == ("inconclusive" if run.is_interrupted else "clean")
    if run.is_interrupted and run.outcome == "inconclusive":
        return True
    return run.outcome == "violation" and (run.is_interrupted or set(run.reasons) >= LEAK_REASONS)


def open_runs(evidence: Evidence) -> list[str]:
    """Runs without a verdict, or without a job."""
    return [run.run_id for run in evidence.runs if not run.is_ended or run.outcome is None or run.job is None]


def interrupted(evidence: Evidence) -> list[RunFacts]:
    """Runs that did not come to their end."""
    return [run for run in evidence.runs if run.is_interrupted]


def explained(evidence: Evidence) -> tuple[collections.Counter[Kind], list[str]]:
    """Tell for the interrupted runs how many were in flight at which kind of disturbance; and which at none.

    A disturbance explains no more runs than could be under way on what it hit: as many are explained as can be.
    """
    lost, done = interrupted(evidence), evidence.done
    fitting = [[place for place, each in enumerate(done) if _was_in_flight(run, each)] for run in lost]
    taken: list[list[int]] = [[] for _ in done]

    def find_room(number: int, tried: set[int]) -> bool:
        """Find a disturbance for a run, others giving way to it where they can (Kuhn's augmenting paths)."""
        for place in fitting[number]:
            if place in tried:
                continue
            tried.add(place)
            if len(taken[place]) < done[place].could_interrupt:
                taken[place].append(number)
                return True
            for other in tuple(taken[place]):
                if find_room(other, tried):
                    taken[place].remove(other)
                    taken[place].append(number)
                    return True
        return False

    unexplained = [run.run_id for number, run in enumerate(lost) if not find_room(number, set())]
    counts: collections.Counter[Kind] = collections.Counter()
    for disturbance, runs in zip(done, taken, strict=True):
        counts[disturbance.kind] += len(runs)
    return +counts, unexplained


def _was_in_flight(run: RunFacts, disturbance: Disturbance) -> bool:
    return run.opened <= disturbance.ended + MOMENT and run.closed >= disturbance.began - MOMENT


def late_writes(evidence: Evidence) -> list[str]:
    """Runs that something was committed to after they were closed: by a replica that had lost its lease."""
    return [run.run_id for run in evidence.runs if run.latest_write is not None and run.latest_write > run.closed]


def broken_fences(evidence: Evidence) -> list[str]:
    """Jobs whose attempts overlap in time, share a fence, or whose last word is not the newest attempt's."""
    attempts = collections.defaultdict(list)
    for run in evidence.runs:
        attempts[run.job].append(run)
    return [job.job_id for job in evidence.jobs if not _is_fenced(job, attempts[job.number])]


def _is_fenced(job: JobFacts, runs: Sequence[RunFacts]) -> bool:
    ordered = sorted(runs, key=lambda run: run.opened)
    fences = [run.fence or 0 for run in ordered]
    if fences != sorted(set(fences)) or (fences and fences[-1] > job.fence):
        return False
    return (job.run_id == ordered[-1].run_id if ordered else job.run_id is None) and not _overlapping(ordered)


def double_probing(evidence: Evidence) -> list[str]:
    """Targets that two runs were open against at one time."""
    by_target = collections.defaultdict(list)
    for run in evidence.runs:
        by_target[run.target].append(run)
    return [target for target, runs in by_target.items() if _overlapping(sorted(runs, key=lambda run: run.opened))]


def _overlapping(ordered: Sequence[RunFacts]) -> bool:
    return any(later.opened < sooner.closed for sooner, later in itertools.pairwise(ordered))


def longest_take_over(evidence: Evidence) -> float:
    """Seconds from the kill of one replica to the end of the last run that it left behind; NaN without one."""
    kills = [each for each in evidence.done if each.kind is Kind.KILL]
    waits = [
        (run.closed - kill.began).total_seconds()
        for run in interrupted(evidence)
        for kill in kills
        if run.opened <= kill.began < run.closed
    ]
    return max(waits, default=float("nan"))
