"""`/targets` and `/coverage`: what is probed, and for which kinds of fault it was."""

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Query

from prober.domain.campaign import Campaign
from prober.domain.outcome import Outcome
from prober.service.api.access import AtDesk, Reader
from prober.service.api.document import answers
from prober.service.api.parameters import Input, Name, Output, PrintableLine
from prober.service.api.problems import ProblemKind, not_found
from prober.service.coverage import KindCoverage, coverage, latest_build

router = APIRouter(tags=["targets"])


class TargetShape(Output):
    """One endpoint and LLM under test, as configured now."""

    name: str
    model: str
    dialect: str
    build: str
    context_tokens: int
    prefill_pool_tokens: int | None
    decode_pool_tokens: int | None
    overlong_contract: str
    shared: bool
    """Real customers are on it."""
    tenants: list[str]
    """Names of our synthetic accounts."""
    scenarios: list[str]
    max_run_tokens: int


class TargetList(Output):
    """All targets."""

    items: list[TargetShape]


class CoverageFilter(Input):
    """Whose coverage to show."""

    target: Name | None = None
    """All targets when left out."""
    build: Annotated[str, Query(max_length=128, pattern=PrintableLine)] | None = None
    """The one probed last when left out: bounds never mix builds."""


class KindShape(Output):
    """What is known of one kind of fault."""

    kind: str
    title: str
    scenarios: list[str]
    """Scenarios that provoke it."""
    probed_by: list[str]
    """Those of them that ran."""
    last_at: dt.datetime | None
    """Null: never probed for."""
    clean: int
    leak_rate_upper95: float | None
    outcome: Outcome | None


class CoverageShape(Output):
    """One build of one target."""

    target: str
    build: str
    kinds: list[KindShape]


class CoverageList(Output):
    """Coverage, by target."""

    items: list[CoverageShape]


@router.get("/targets")
async def list_targets(desk: AtDesk, caller: Reader) -> TargetList:
    """List the configured targets, without addresses and credentials."""
    del caller
    return TargetList(items=[_target(campaign) for campaign in desk.campaigns().values()])


@router.get("/coverage", responses=answers(ProblemKind.NOT_FOUND))
async def show_coverage(filters: Annotated[CoverageFilter, Query()], desk: AtDesk, caller: Reader) -> CoverageList:
    """Tell for each kind of fault when a target was last probed for it, and with what bound on the leak rate."""
    del caller
    known = list(desk.campaigns())
    if filters.target is not None and filters.target not in known:
        raise not_found("target")
    items = []
    for name in known if filters.target is None else [filters.target]:
        tallies = await desk.lookups.tallies(name)
        build = filters.build if filters.build is not None else latest_build(tallies) or ""
        items.append(CoverageShape(target=name, build=build, kinds=list(map(_kind, coverage(tallies, build)))))
    return CoverageList(items=items)


def _target(campaign: Campaign) -> TargetShape:
    target = campaign.target
    return TargetShape(
        name=target.name,
        model=target.model,
        dialect=target.dialect,
        build=target.build,
        context_tokens=target.context_tokens,
        prefill_pool_tokens=target.prefill_pool_tokens,
        decode_pool_tokens=target.decode_pool_tokens,
        overlong_contract=target.overlong.value,
        shared=target.shared,
        tenants=[tenant.name for tenant in campaign.tenants],
        scenarios=list(campaign.scenarios),
        max_run_tokens=campaign.max_run_tokens,
    )


def _kind(row: KindCoverage) -> KindShape:
    return KindShape(
        kind=row.kind.value,
        title=row.kind.title,
        scenarios=list(row.scenarios),
        probed_by=list(row.probed_by),
        last_at=row.last_at,
        clean=row.clean,
        leak_rate_upper95=row.leak_rate_upper95,
        outcome=row.outcome,
    )
