"""Options that several verbs share, and how they open what they name."""

import enum
import os
import pathlib
import sys
from typing import Annotated

import typer

from prober.cli.terminal import open_console
from prober.config.schema import Settings
from prober.domain.errors import ConfigError
from prober.telemetry.logs import Log, LogFormat, open_log
from prober.wiring.campaigns import read_settings, redactor_for
from prober.wiring.system import SystemClock

ConfigFile = Annotated[
    pathlib.Path,
    typer.Option("--config", "-c", help="Configuration file.", envvar="PROBER_CONFIG", show_envvar=True),
]
DEFAULT_CONFIG = pathlib.Path("prober.yaml")


class LogLevel(enum.Enum):
    """Least level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def number(self) -> int:
        """As the standard library counts."""
        return {"debug": 10, "info": 20, "warning": 30, "error": 40}[self.value]


LogFormatOption = Annotated[
    LogFormat | None,
    typer.Option("--log-format", help="Log the run on standard error too, in this form (else: console)."),
]
LogLevelOption = Annotated[
    LogLevel | None,
    typer.Option("--log-level", help="Log the run on standard error too, from this level on (else: warning)."),
]


class WithoutCourse:
    """A `Log` that drops the course of runs and passes on the rest, such as faults of our own."""

    _COURSE = frozenset({"run_started", "wave_started", "probe_judged", "run_ended"})

    def __init__(self, log: Log) -> None:
        self._log = log

    def debug(self, event: str, **facts: object) -> object:
        """Write detail."""
        return None if event in self._COURSE else self._log.debug(event, **facts)

    def info(self, event: str, **facts: object) -> object:
        """Write the ordinary course."""
        return None if event in self._COURSE else self._log.info(event, **facts)

    def warning(self, event: str, **facts: object) -> object:
        """Write what someone should look at."""
        return None if event in self._COURSE else self._log.warning(event, **facts)

    def error(self, event: str, **facts: object) -> object:
        """Write what someone must look at."""
        return None if event in self._COURSE else self._log.error(event, **facts)


def load(config: pathlib.Path) -> Settings:
    """Load the configuration and print its warnings to standard error.

    Raises:
        ConfigError: with every problem found.
    """
    if config == DEFAULT_CONFIG and not config.exists():
        raise ConfigError(f"there is no {config} here; name your configuration with -c FILE or PROBER_CONFIG")
    loaded = read_settings(config, os.environ)
    console = open_console(stderr=True)
    for warning in loaded.warnings:
        console.print(f"warning: {warning}", markup=False, soft_wrap=True)
    return loaded.settings


def log_for(settings: Settings, form: LogFormat | None, level: LogLevel | None) -> Log:
    """Open the log on standard error, with the configuration's secrets redacted.

    With neither form nor level it leaves out the course of the run, which the display and the report tell already.
    """
    log = open_log(
        sys.stderr,
        form=form or LogFormat.CONSOLE,
        redactor=redactor_for(settings),
        now=SystemClock().now,
        level=(level or LogLevel.WARNING).number,
    )
    return WithoutCourse(log) if form is None and level is None else log
