"""`/schedules`: what runs by itself, and when."""

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Path

from prober.service.api.access import Admin, AtDesk, Reader
from prober.service.api.desk import Schedule
from prober.service.api.document import answers
from prober.service.api.parameters import Output
from prober.service.api.problems import ProblemKind, not_found

router = APIRouter(prefix="/schedules", tags=["schedules"])

ScheduleName = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$", examples=["nightly"])]


class ScheduleShape(Output):
    """A configured schedule."""

    name: str
    targets: list[str]
    when: str
    """As configured: the cron line or the interval."""
    next_at: dt.datetime | None
    """Its next slot; null while it is paused."""
    is_paused: bool
    paused_by: str


class ScheduleList(Output):
    """All schedules."""

    items: list[ScheduleShape]


@router.get("")
async def list_schedules(desk: AtDesk, caller: Reader) -> ScheduleList:
    """List the configured schedules."""
    del caller
    return ScheduleList(items=list(map(_shape, await desk.schedules.listed())))


@router.post("/{name}/pause", responses=answers(ProblemKind.NOT_FOUND))
async def pause_schedule(name: ScheduleName, desk: AtDesk, caller: Admin) -> ScheduleShape:
    """Leave its slots out, on every replica, until it is resumed. Runs under way go on."""
    return _shape(_there(await desk.schedules.pause(name, caller.name)))


@router.post("/{name}/resume", responses=answers(ProblemKind.NOT_FOUND))
async def resume_schedule(name: ScheduleName, desk: AtDesk, caller: Admin) -> ScheduleShape:
    """Go on with the next slot; what was left out is not made up for."""
    return _shape(_there(await desk.schedules.resume(name, caller.name)))


def _shape(schedule: Schedule) -> ScheduleShape:
    return ScheduleShape(
        name=schedule.name,
        targets=list(schedule.targets),
        when=schedule.when,
        next_at=schedule.next_at,
        is_paused=schedule.is_paused,
        paused_by=schedule.paused_by,
    )


def _there(schedule: Schedule | None) -> Schedule:
    if schedule is None:
        raise not_found("schedule")
    return schedule
