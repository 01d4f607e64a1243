"""`/runs`: start, follow and cancel runs."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from prober.domain.campaign import Trigger
from prober.domain.errors import JobConflictError
from prober.domain.job import Job, JobRequest, JobState
from prober.service.api.access import AtDesk, Reader, Runner
from prober.service.api.desk import Desk
from prober.service.api.document import answers
from prober.service.api.parameters import Name, Page, PagingByKey, RunId, page_of
from prober.service.api.problems import Flaw, Problem, ProblemKind, not_found
from prober.service.api.run_shapes import RunDetail, RunOrder, RunShape, detail_of, detail_of_run, shape_of

router = APIRouter(prefix="/runs", tags=["runs"])

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[\x21-\x7e]{1,128}$",
        description="Of the caller's choice: the same key again gives the run of the first request, and starts none.",
    ),
]


_NO_PLACE = Flaw(where="query.cursor", message="names no run that is queued or kept; begin with the first page")


class RunFilter(PagingByKey):
    """Which runs to list."""

    target: Name | None = None
    state: JobState | None = None


@router.post("", status_code=202, responses=answers(ProblemKind.INVALID, ProblemKind.KEY_REUSED))
async def start_run(
    order: RunOrder, response: Response, desk: AtDesk, caller: Runner, key: IdempotencyKey = None
) -> RunDetail:
    """Queue a run, and answer at once: follow it at `Location`."""
    _require_possible(order, desk)
    request = JobRequest(
        target=order.target,
        trigger=Trigger(order.trigger),
        scenarios=order.scenarios,
        max_run_tokens=order.max_tokens,
        requested_by=caller.name,
        idempotency_key=key,
        facts=order.rollout,
    )
    try:
        job = await desk.queue.enqueue(request)
    except JobConflictError:
        detail = "It was sent before with another target, trigger, scenarios, cap or facts."
        raise Problem(ProblemKind.KEY_REUSED, detail) from None
    response.headers["Location"] = f"/api/v1/runs/{job.job_id}"
    return await _detail(job, desk)


@router.get("")
async def list_runs(filters: Annotated[RunFilter, Query()], desk: AtDesk, caller: Reader) -> Page[RunShape]:
    """List what was queued, newest first; runs of the command line are found by their id alone."""
    del caller
    if filters.cursor is not None and await desk.queue.find(filters.cursor) is None:
        # An empty page would read as the end of the list.
        raise Problem(ProblemKind.INVALID, f"query.cursor: {_NO_PLACE.message}", flaws=[_NO_PLACE])
    jobs = await desk.queue.listed(
        target=filters.target, state=filters.state, limit=filters.limit + 1, before=filters.cursor
    )
    return page_of(jobs, filters.limit, shape_of, lambda job: job.job_id)


@router.get("/{run_id}", responses=answers(ProblemKind.NOT_FOUND))
async def show_run(run_id: RunId, desk: AtDesk, caller: Reader) -> RunDetail:
    """Tell a run's state and verdict, with reasons, bound and spending."""
    del caller
    job = await desk.queue.find(run_id)
    if job is not None:
        return await _detail(job, desk)
    run = await desk.lookups.run(run_id)
    if run is None:
        raise not_found("run")
    return detail_of_run(run)


@router.post("/{run_id}/cancel", responses=answers(ProblemKind.NOT_FOUND))
async def cancel_run(run_id: RunId, desk: AtDesk, caller: Runner) -> RunDetail:
    """Cancel a run: at once while it waits; one under way ends at its next wave, INCONCLUSIVE at best.

    A run that has ended stays as it is.
    """
    job = await desk.queue.cancel(run_id, caller.name)
    if job is None:
        raise not_found("queued run")
    return await _detail(job, desk)


def _require_possible(order: RunOrder, desk: Desk) -> None:
    """Refuse at once what could only fail later, and what would pass the operator's cap."""
    campaign = desk.campaigns().get(order.target)
    flaws = []
    if campaign is None:
        flaws.append(Flaw(where="body.target", message="is no target of the configuration"))
    elif order.max_tokens is not None and order.max_tokens > campaign.max_run_tokens:
        flaws.append(Flaw(where="body.max_tokens", message="is above the configuration's max_run_tokens"))
    if any(name not in desk.scenarios for name in order.scenarios):
        flaws.append(Flaw(where="body.scenarios", message="names a scenario that there is not"))
    if len(set(order.scenarios)) < len(order.scenarios):
        flaws.append(Flaw(where="body.scenarios", message="names a scenario twice"))
    if flaws:
        detail = "; ".join(f"{flaw.where}: {flaw.message}" for flaw in flaws)
        raise Problem(ProblemKind.INVALID, detail, flaws=flaws)


async def _detail(job: Job, desk: Desk) -> RunDetail:
    return detail_of(job, None if job.run_id is None else await desk.lookups.run(job.run_id))
