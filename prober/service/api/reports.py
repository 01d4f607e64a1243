"""`/runs/{run_id}/report`: the report of a run that has ended, in any format."""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from prober.domain.exits import FailOn
from prober.report.facts import facts_of
from prober.report.formats import FORMATS, MEDIA_TYPES
from prober.service.api.access import AtDesk, Reader
from prober.service.api.document import answers
from prober.service.api.parameters import Input, RunId
from prober.service.api.problems import ProblemKind, not_found

router = APIRouter(prefix="/runs", tags=["runs"])

_SHUT = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""Whoever opens a report in a browser runs nothing of it, and loads nothing."""

_DESCRIBED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The report, in the media type of its format.",
        "content": {media.partition(";")[0]: {"schema": {"type": "string"}} for media in MEDIA_TYPES.values()},
    }
}
_DESCRIBED[200]["content"][MEDIA_TYPES["json"]] = {"schema": {"type": "object"}}
_DESCRIBED[200]["content"][MEDIA_TYPES["sarif"]] = {"schema": {"type": "object"}}


class Wanted(Input):
    """Which report."""

    format: Literal["console", "json", "junit", "sarif", "html", "markdown", "vendor", "script"] = "json"
    """As `prober report --format` has them."""
    fail_on: FailOn = FailOn.VIOLATION
    """From which outcome on the report tells of a failure."""


@router.get(
    "/{run_id}/report",
    response_class=Response,
    responses={**_DESCRIBED, **answers(ProblemKind.NOT_FOUND)},
)
async def show_report(run_id: RunId, wanted: Annotated[Wanted, Query()], desk: AtDesk, caller: Reader) -> Response:
    """Write the report of a run that has ended; ids, hashes, counts and our own words, never answer text."""
    del caller
    job = await desk.queue.find(run_id)
    found = await desk.reports.report(run_id if job is None or job.run_id is None else job.run_id)
    if found is None:
        raise not_found("report")
    # A large run's takes a second or more.
    text = await asyncio.to_thread(lambda: FORMATS[wanted.format](facts_of(found, wanted.fail_on)))
    return Response(text, media_type=MEDIA_TYPES[wanted.format], headers={"Content-Security-Policy": _SHUT})
