"""The schedules as people see and change them: what is next, what is paused. Satisfies `service.api.desk.Schedules`."""

from collections.abc import Callable

from prober.config.schema import Settings
from prober.runner.ports import Clock
from prober.service.api.desk import Schedule
from prober.service.scheduler import Scheduler
from prober.store.switches import SwitchBoard, Switches


class ScheduleBook:
    """The schedules of the configuration in force, with the switches that all replicas share."""

    def __init__(
        self, settings: Callable[[], Settings], scheduler: Scheduler, switches: SwitchBoard, clock: Clock
    ) -> None:
        self._settings = settings
        self._scheduler = scheduler
        self._switches = switches
        self._clock = clock

    async def listed(self) -> tuple[Schedule, ...]:
        """List, in the configuration's order."""
        switches = await self._switches.read()
        return tuple(self._schedule(name, switches) for name in self._settings().schedules)

    async def pause(self, name: str, by: str) -> Schedule | None:
        """Leave its slots out until it is resumed, on every replica; None: there is no such schedule."""
        if name not in self._settings().schedules:
            return None
        await self._switches.pause(name, by)
        return self._schedule(name, await self._switches.read())

    async def resume(self, name: str, by: str) -> Schedule | None:
        """Go on with the next slot; None: there is no such schedule."""
        del by
        if name not in self._settings().schedules:
            return None
        await self._switches.resume(name)
        return self._schedule(name, await self._switches.read())

    def _schedule(self, name: str, switches: Switches) -> Schedule:
        settings = self._settings()
        schedule = settings.schedules[name]
        paused = switches.paused.get(name)
        return Schedule(
            name=name,
            targets=tuple(settings.targets) if schedule.targets is None else schedule.targets,
            when=f"every {schedule.every_seconds} s" if schedule.cron is None else schedule.cron,
            next_at=None if paused else self._scheduler.next_due(name, self._clock.now()),
            is_paused=paused is not None,
            paused_by="" if paused is None else paused.by,
        )
