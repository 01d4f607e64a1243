"""`/findings`: what runs concluded, with whose text it was and which request sent it."""

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Query

from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.reading import Sighting
from prober.service.api.access import AtDesk, Reader
from prober.service.api.document import answers
from prober.service.api.parameters import Name, Output, Page, PagingById, RecordId, page_of
from prober.service.api.problems import ProblemKind, not_found
from prober.store.rows import StoredCanary, StoredFinding

router = APIRouter(prefix="/findings", tags=["findings"])


class FindingFilter(PagingById):
    """Which findings to list."""

    target: Name | None = None
    run_id: Annotated[str, Query(pattern=r"^[A-Za-z0-9-]{1,64}$")] | None = None
    """`run_id` of a run: one attempt."""
    reason: Reason | None = None
    worse_than: Outcome = Outcome.INCONCLUSIVE
    """Only outcomes worse than this one."""


class FindingShape(Output):
    """One conclusion of one detector."""

    id: int
    run_id: str
    target: str
    found_at: dt.datetime
    detector: str
    outcome: Outcome
    reason: Reason
    message: str
    """Sizes, limits, tenants and canaries in our own words; never answer text."""
    probe: str | None
    """Its label; null for a finding about the run as a whole."""
    is_confirmed: bool
    """Stands by itself, or was seen again on a re-probe."""
    evidence_bits: float
    kinds: list[str]
    """Suspected kinds of fault, the likeliest first (docs/fault-kinds.md)."""


class SenderShape(Output):
    """The probe that sent a canary, as far as this database knows it."""

    run_id: str
    probe: str
    tenant: str
    sent_at: dt.datetime
    seconds_before: float
    """How long before the finding it was about to be sent."""


class SightingShape(Output):
    """One of our own canaries, read in an answer to somebody else."""

    canary: str
    tier: str
    tenant_number: int
    windows: int
    first_block: int | None
    last_block: int | None
    evidence_bits: float
    is_live: bool
    """Of a probe that was in flight, or just before."""
    sender: SenderShape | None


class FindingDetail(FindingShape):
    """A finding with what it rests on."""

    sightings: list[SightingShape]


@router.get("")
async def list_findings(filters: Annotated[FindingFilter, Query()], desk: AtDesk, caller: Reader) -> Page[FindingShape]:
    """List findings, newest first."""
    del caller
    found = await desk.lookups.findings(
        worse_than=filters.worse_than,
        run_id=filters.run_id,
        target=filters.target,
        reason=filters.reason,
        before=filters.cursor,
        limit=filters.limit + 1,
    )
    return page_of(found, filters.limit, shape_of, lambda stored: stored.finding_id)


@router.get("/{finding_id}", responses=answers(ProblemKind.NOT_FOUND))
async def show_finding(finding_id: RecordId, desk: AtDesk, caller: Reader) -> FindingDetail:
    """Show one finding: whose text it was, which request sent it, and when."""
    del caller
    stored = await desk.lookups.finding(finding_id)
    if stored is None:
        raise not_found("finding")
    senders = {donor.canary: donor for donor in stored.donors}
    sightings = [_sighting(seen, senders.get(seen.canary), stored) for seen in stored.finding.sightings]
    return FindingDetail(**shape_of(stored).model_dump(), sightings=sightings)


def shape_of(stored: StoredFinding) -> FindingShape:
    """Show a finding in a list."""
    finding = stored.finding
    return FindingShape(
        id=stored.finding_id,
        run_id=stored.run_id,
        target=stored.target,
        found_at=stored.found_at,
        detector=finding.detector,
        outcome=finding.outcome,
        reason=finding.reason,
        message=finding.message,
        probe=finding.probe_label or None,
        is_confirmed=finding.is_confirmed,
        evidence_bits=round(finding.evidence_bits, 1),
        kinds=[kind.value for kind in finding.kinds],
    )


def _sighting(sighting: Sighting, sender: StoredCanary | None, stored: StoredFinding) -> SightingShape:
    return SightingShape(
        canary=str(sighting.canary),
        tier=sighting.tier.value,
        tenant_number=sighting.canary.tenant_number,
        windows=sighting.windows,
        first_block=sighting.first_block,
        last_block=sighting.last_block,
        evidence_bits=round(sighting.evidence_bits, 1),
        is_live=sighting.is_live,
        sender=None if sender is None else _sender(sender, stored.found_at),
    )


def _sender(sender: StoredCanary, found_at: dt.datetime) -> SenderShape:
    return SenderShape(
        run_id=sender.run_id,
        probe=sender.label,
        tenant=sender.tenant,
        sent_at=sender.remembered_at,
        seconds_before=round(sender.age(found_at).total_seconds(), 3),
    )
