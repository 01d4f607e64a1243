"""One target: its limits over time, which kinds of fault it was probed for, when it runs by itself."""

import json
import secrets
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from prober.domain.account import Scope
from prober.service.coverage import coverage, latest_build
from prober.service.pages.access import Denied, page, ports_of
from prober.service.pages.allowances import allowance_of
from prober.service.pages.rendering import render
from prober.store.page_lookups import LimitPoint

LINES = (
    ("context advertised", "context_tokens", "dim"),
    ("prefill pool configured", "prefill_pool_tokens", "suspect"),
    ("largest served soundly", "largest_served", "clean"),
    ("smallest rejected", "smallest_rejected", "inconclusive"),
    ("first served wrongly", "first_wrong", "violation"),
)
"""Of the map of limits: what stands in its legend, where the figure is, which colour of the pages it has."""


@page(Scope.READ)
async def show(request: Request) -> Response:
    """Show a target."""
    ports, name = ports_of(request), request.path_params["target"]
    campaign = ports.desk.campaigns().get(name)
    if campaign is None:
        raise Denied(404, "No such target", "The configuration names none of that name.")
    tallies = await ports.desk.lookups.tallies(name)
    build = latest_build(tallies)
    limits = await ports.lookups.limits(name)
    return render(
        request,
        "target.html",
        campaign=campaign,
        target=campaign.target,
        build=build,
        kinds=coverage(tallies, build or ""),
        limits=list(reversed(limits)),
        chart=json.dumps(chart_of(limits)),
        once=secrets.token_hex(8),
        schedules=[each for each in await ports.desk.schedules.listed() if name in each.targets],
        allowances=[
            allowance_of(standing, ports.currency())
            for standing in await ports.standings()
            if standing.cap.target in {None, name}
        ],
    )


def chart_of(limits: Sequence[LimitPoint]) -> dict[str, Any]:
    """Lay the map of limits out for the chart: seconds since 1970, and a line of tokens for each limit known."""
    lines = [
        ({"label": label, "tone": tone}, [getattr(point, field) for point in limits]) for label, field, tone in LINES
    ]
    known = [(line, figures) for line, figures in lines if any(figure is not None for figure in figures)]
    return {
        "lines": [line for line, _ in known],
        "data": [[point.started_at.timestamp() for point in limits], *(figures for _, figures in known)],
    }
