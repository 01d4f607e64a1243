"""`/stop`: the global stop switch, which ends all probing of all replicas."""

import datetime as dt

from fastapi import APIRouter

from prober.service.api.access import Admin, AtDesk, Reader
from prober.service.api.desk import StopBoard
from prober.service.api.parameters import Output

router = APIRouter(prefix="/stop", tags=["stop"])


class StopShape(Output):
    """The global stop switch, as the database holds it for all replicas."""

    is_thrown: bool
    thrown_at: dt.datetime | None
    """Null while it is not."""
    thrown_by: str
    """API token or person; empty while it is not."""


@router.get("")
async def show_stop(desk: AtDesk, caller: Reader) -> StopShape:
    """Tell whether all probing is stopped."""
    del caller
    return await _shape(desk.switches)


@router.post("")
async def stop_probing(desk: AtDesk, caller: Admin) -> StopShape:
    """End all probing: nothing is claimed, and runs under way end at their next wave, INCONCLUSIVE at best.

    A stop that is thrown already keeps its first date and name.
    """
    await desk.switches.stop(caller.name)
    return await _shape(desk.switches)


@router.delete("")
async def resume_probing(desk: AtDesk, caller: Admin) -> StopShape:
    """Let probing go on, with what waits and with the next slots."""
    del caller
    await desk.switches.go_on()
    return await _shape(desk.switches)


async def _shape(switches: StopBoard) -> StopShape:
    stop = (await switches.read()).stop
    if stop is None:
        return StopShape(is_thrown=False, thrown_at=None, thrown_by="")
    return StopShape(is_thrown=True, thrown_at=stop.at, thrown_by=stop.by)
