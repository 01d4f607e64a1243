"""The configuration in force, and another one in its place while the service runs."""

import asyncio
import os
import pathlib
from collections.abc import Callable, Collection, Iterator, Sequence

from prober.config.schedules import ServiceSettings
from prober.config.schema import Settings
from prober.domain.errors import ConfigError
from prober.domain.finding import Finding
from prober.domain.job import Job
from prober.domain.verdict import RunReport
from prober.telemetry.logs import Log
from prober.telemetry.redaction import Redactor
from prober.telemetry.service_series import Reload, ServiceSeries
from prober.wiring.campaigns import hide_secrets, read_settings
from prober.wiring.prober import Prober
from prober.wiring.service import perform, renewed

FIXED = ("database", "api", "notifications", "vault", "service.replica")
"""What only a new process can take up."""


class Bench:
    """What runs are performed with under one configuration. Satisfies `service.worker.Bench`."""

    def __init__(self, prober: Prober) -> None:
        self.prober = prober

    @property
    def settings(self) -> ServiceSettings:
        """How this replica behaves."""
        return self.prober.settings.service

    @property
    def targets(self) -> Collection[str]:
        """Names of the targets that it can probe."""
        return self.prober.settings.targets

    async def perform(self, job: Job, doubts: Sequence[Finding]) -> RunReport:
        """Run a claimed job to its verdict."""
        return await perform(self.prober, job, doubts)


class Configuration:
    """The configuration in force. A run keeps the one it began with.

    Args:
        path: the file.
        prober: built from it.
        log: tells of reloads, each problem in a line of its own.
        redactor: learns the secrets of each configuration before anything of it can be logged.
        series: counts reloads.
    """

    def __init__(
        self, path: pathlib.Path, prober: Prober, *, log: Log, redactor: Redactor, series: ServiceSeries
    ) -> None:
        self._path = path
        self._log = log
        self._redactor = redactor
        self._series = series
        self.bench = Bench(prober)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.bench.prober.settings

    async def reload(self, tell: Callable[[Settings], None]) -> bool:
        """Read the file anew; one that cannot be used is refused with all its problems, and the old one stays.

        Args:
            tell: hands the new settings to those who keep something made of them; called once they are in force.

        Returns:
            Whether the new configuration was taken.
        """
        try:
            prober = await asyncio.to_thread(self._read)
        except ConfigError as error:
            for problem in str(error).splitlines():
                self._log.error("reload_problem", problem=problem)
            self._log.error("reload_refused", file=str(self._path))
            self._series.reloaded(Reload.REFUSED)
            return False
        self.bench = Bench(prober)
        prober.metrics.announce(self.settings.targets)
        for target in self.settings.targets:
            self._series.announce(target)
        tell(self.settings)
        self._series.reloaded(Reload.TAKEN)
        self._log.warning("reloaded", targets=len(self.settings.targets), schedules=len(self.settings.schedules))
        return True

    def _read(self) -> Prober:
        loaded = read_settings(self._path, os.environ)
        hide_secrets(loaded.settings, self._redactor)
        for warning in loaded.warnings:
            self._log.warning("configuration_warning", warning=warning)
        changed = list(_fixed_changes(self.settings, loaded.settings))
        if changed:
            raise ConfigError(
                "\n".join(f"{key}: cannot be changed by a reload; restart the service" for key in changed)
            )
        return renewed(self.bench.prober, loaded.settings)


def _fixed_changes(old: Settings, new: Settings) -> Iterator[str]:
    """Name what differs though it cannot be taken up."""
    for key in FIXED:
        before, after = old, new
        for step in key.split("."):
            before, after = getattr(before, step), getattr(after, step)
        if before != after:
            yield key
