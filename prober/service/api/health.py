"""`/healthz`, `/readyz` and `/metrics`, for those who watch the process."""

import asyncio

from fastapi import APIRouter
from starlette.responses import PlainTextResponse

from prober.service.api.access import AtDesk, Reader
from prober.service.api.desk import Check, Desk
from prober.service.api.document import answers
from prober.service.api.parameters import Output
from prober.service.api.problems import Problem, ProblemKind

CHECK_SECONDS = 2.0
"""A part that does not answer by then is not ready; what watches us waits a few seconds at most."""

EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8"

router = APIRouter(tags=["health"])


class Health(Output):
    """The process answers."""

    alive: bool = True


class Readiness(Output):
    """Every part is ready."""

    ready: list[str]


class Exposition(PlainTextResponse):
    """Metrics in Prometheus text format 0.0.4."""

    media_type = EXPOSITION_TYPE


@router.get("/healthz")
async def show_health() -> Health:
    """Answer while the process's event loop turns; asks nothing else, so that no outage elsewhere restarts it."""
    return Health()


@router.get("/readyz", responses=answers(ProblemKind.NOT_READY))
async def show_readiness(desk: AtDesk) -> Readiness:
    """Tell whether database, scheduler and canary key can be used; 503 names those that cannot."""
    parts = await _ready(desk)
    lacking = [name for name, is_ready in parts.items() if not is_ready]
    if lacking:
        raise Problem(ProblemKind.NOT_READY, f"Not ready: {', '.join(lacking)}.", not_ready=lacking)
    return Readiness(ready=list(parts))


def metrics_router(*, is_public: bool) -> APIRouter:
    """Serve `/metrics` to all, or to tokens with the scope `read`."""
    metrics = APIRouter(tags=["health"], default_response_class=Exposition)

    async def show_metrics(desk: AtDesk) -> Exposition:
        """All metrics in Prometheus text format 0.0.4."""
        return Exposition(desk.exposition())

    async def show_metrics_to_readers(desk: AtDesk, caller: Reader) -> Exposition:
        """All metrics in Prometheus text format 0.0.4."""
        del caller
        return Exposition(desk.exposition())

    metrics.get("/metrics", responses={} if is_public else answers(*_OF_READERS))(
        show_metrics if is_public else show_metrics_to_readers
    )
    return metrics


_OF_READERS = (ProblemKind.UNAUTHENTICATED, ProblemKind.SCOPE_MISSING, ProblemKind.TOO_MANY_REQUESTS)


async def _ready(desk: Desk) -> dict[str, bool]:
    """Ask all parts at once."""
    async with asyncio.TaskGroup() as group:
        asked = {name: group.create_task(_passes(check)) for name, check in desk.readiness.items()}
    return {name: task.result() for name, task in asked.items()}


async def _passes(check: Check) -> bool:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check()
    except Exception:  # noqa: BLE001 - whatever a part fails by, it is not ready
        return False
