"""Runs: the list, one with its pictures and findings, one under way, one that waits."""

import asyncio
import dataclasses
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from prober.domain.account import Scope
from prober.domain.campaign import Trigger
from prober.domain.errors import JobConflictError
from prober.domain.job import JobRequest, JobState
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.report.drawing import Drawn, pictures_of
from prober.report.facts import Facts, facts_of
from prober.report.formats import FORMATS, MEDIA_TYPES
from prober.report.wording import MEANINGS, bound_words, count_words, spending_words
from prober.service.pages.access import Denied, form, named, page, ports_of, run_id_of
from prober.service.pages.ports import PagePorts
from prober.service.pages.rendering import SITE, render
from prober.store.rows import StoredFinding, StoredRun

PER_PAGE = 50
MOST_FINDINGS = 200
_SUFFIXES = {
    "console": "txt",
    "json": "json",
    "junit": "xml",
    "sarif": "sarif",
    "html": "html",
    "markdown": "md",
    "vendor": "vendor.md",
    "script": "py",
}
"""Of files, by format."""


@dataclasses.dataclass(frozen=True, slots=True)
class Drawings:
    """A report's facts and pictures: a second's work for a large run, done beside the loop."""

    facts: Facts
    pictures: tuple[Drawn, ...]


@page(Scope.READ)
async def listed(request: Request) -> Response:
    """List runs, newest first, and what waits before them."""
    ports = ports_of(request)
    target, before = named(request.query_params.get("target")), named(request.query_params.get("before"))
    found = await ports.runs.runs(target=target, limit=PER_PAGE + 1, before=before)
    waiting = [] if before else await ports.desk.queue.listed(target=target, state=JobState.QUEUED, limit=PER_PAGE)
    return render(
        request,
        "runs.html",
        runs=found[:PER_PAGE],
        older=found[PER_PAGE - 1].run_id if len(found) > PER_PAGE else None,
        waiting=waiting,
        target=target,
        targets=list(ports.desk.campaigns()),
    )


@page(Scope.READ)
async def show(request: Request) -> Response:
    """Show a run; by the id of its job as well, under which it was asked for."""
    run_id, ports = run_id_of(request), ports_of(request)
    job = await ports.desk.queue.find(run_id)
    if job is not None and job.run_id is None:
        return render(request, "waiting.html", job=job, is_ended=job.state not in _PENDING)
    if job is not None and job.run_id is not None and job.run_id != run_id:
        return RedirectResponse(f"{SITE}/runs/{job.run_id}", status_code=303)
    run = await _there(request, run_id)
    if run.ended_at is None:
        return render(request, "run_under_way.html", run=run, job=job, **await _progress(request, run))
    report = await ports.desk.reports.report(run.run_id)
    if report is None:
        raise Denied(404, "No report", "What this run saw is no longer kept.")
    drawn = await asyncio.to_thread(_draw, report)
    findings = await _worst(ports, run.run_id, Outcome.CLEAN)
    return render(request, "run.html", run=run, findings=findings, most_findings=MOST_FINDINGS, **_told(drawn))


@page(Scope.READ)
async def progress(request: Request) -> Response:
    """Answer with the part of a run's page that changes; once it has ended, with the whole page."""
    run = await _there(request, run_id_of(request))
    if run.ended_at is not None:
        return Response(headers={"HX-Refresh": "true"})
    return render(request, "progress.html", run=run, **await _progress(request, run))


@page(Scope.READ)
async def report(request: Request) -> Response:
    """Hand out a run's report as a file, in any format."""
    name, ports = request.path_params["format"], ports_of(request)
    found = await ports.desk.reports.report(run_id_of(request)) if name in FORMATS else None
    if found is None:
        raise Denied(404, "No such report", "The run is not known or has not ended, or there is no such format.")
    text = await asyncio.to_thread(lambda: FORMATS[name](facts_of(found)))
    kept = "".join(character for character in found.run.run_id if character.isalnum() or character == "-")
    file = f"run-{kept}.{_SUFFIXES[name]}"
    headers = {"Content-Disposition": f'attachment; filename="{file}"', "Content-Security-Policy": "sandbox"}
    return Response(text, media_type=MEDIA_TYPES[name], headers=headers)


@form(Scope.RUN)
async def start(request: Request, fields: Mapping[str, str]) -> Response:
    """Queue a run of a target, as configured; the button that is pressed twice asks for one."""
    ports, name = ports_of(request), request.path_params["target"]
    if name not in ports.desk.campaigns():
        raise Denied(404, "No such target", "The configuration names none of that name.")
    once = named(fields.get("once"))
    wanted = JobRequest(
        target=name,
        trigger=Trigger.MANUAL,
        requested_by=request.state.visitor.name,
        idempotency_key=None if once is None else f"page-{once}",
    )
    try:
        job = await ports.desk.queue.enqueue(wanted)
    except JobConflictError:
        raise Denied(422, "Another page's form", "Load the target's page again, and start the run there.") from None
    return RedirectResponse(f"{SITE}/runs/{job.job_id}", status_code=303)


@form(Scope.RUN)
async def cancel(request: Request, fields: Mapping[str, str]) -> Response:
    """Cancel what waits at once; a run under way ends at its next wave."""
    del fields
    job = await ports_of(request).desk.queue.cancel(run_id_of(request), request.state.visitor.name)
    if job is None:
        raise Denied(404, "No such run", "Nothing of that id is queued, or runs for the service.")
    return RedirectResponse(f"{SITE}/runs/{job.job_id}", status_code=303)


_PENDING = {JobState.QUEUED, JobState.RUNNING}


async def _there(request: Request, run_id: str) -> StoredRun:
    run = await ports_of(request).desk.lookups.run(run_id)
    if run is None:
        raise Denied(404, "No such run", "It was never begun, or is no longer kept.")
    return run


async def _progress(request: Request, run: StoredRun) -> dict[str, Any]:
    ports = ports_of(request)
    parts = await ports.lookups.progress(run.run_id)
    return {
        "parts": parts,
        "findings": await _worst(ports, run.run_id, Outcome.INCONCLUSIVE),
        "sent": sum(part.sent for part in parts),
        "judged": sum(sum(part.judged.values()) for part in parts),
        "still": [name for name in run.scenarios if name not in {part.scenario for part in parts}],
    }


async def _worst(ports: PagePorts, run_id: str, worse_than: Outcome) -> list[StoredFinding]:
    """The worst findings of a run, as many as are shown.

    The ledger lists the latest first: asked for all at once, a violation could be left out behind what is less.
    """
    wanted = [outcome for outcome in Outcome if outcome.rank >= worse_than.rank and outcome is not Outcome.VIOLATION]
    found: dict[int, StoredFinding] = {}
    for least in sorted(wanted, key=lambda outcome: -outcome.rank):
        listed = await ports.desk.lookups.findings(run_id=run_id, worse_than=least, limit=MOST_FINDINGS)
        found |= {each.finding_id: each for each in listed if each.finding_id not in found}
        if len(found) >= MOST_FINDINGS:
            break
    return sorted(found.values(), key=lambda each: (-each.finding.outcome.rank, each.finding_id))[:MOST_FINDINGS]


def _draw(report: RunReport) -> Drawings:
    facts = facts_of(report)
    return Drawings(facts, pictures_of(facts))


def _told(drawn: Drawings) -> dict[str, Any]:
    verdict = drawn.facts.report.verdict
    return {
        "facts": drawn.facts,
        "pictures": drawn.pictures,
        "meaning": MEANINGS[drawn.facts.outcome],
        "counts": count_words(verdict),
        "bound": bound_words(verdict),
        "spent": spending_words(drawn.facts.report.spent),
        "formats": [(name, _SUFFIXES[name]) for name in FORMATS],
    }
