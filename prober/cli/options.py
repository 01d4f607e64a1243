"""Options that several verbs share, and how they open what they name."""

import enum
import os
import pathlib
import sys
from typing import Annotated

import typer

from prober.cli.terminal import open_console
from prober.config.schema import Settings
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


LogFormatOption = Annotated[LogFormat, typer.Option("--log-format", help="How log lines look, on standard error.")]
LogLevelOption = Annotated[LogLevel, typer.Option("--log-level", help="Least level that is logged.")]


def load(config: pathlib.Path) -> Settings:
    """Load the configuration and print its warnings to standard error.

    Raises:
        ConfigError: with every problem found.
    """
    loaded = read_settings(config, os.environ)
    console = open_console(stderr=True)
    for warning in loaded.warnings:
        console.print(f"warning: {warning}", markup=False, soft_wrap=True)
    return loaded.settings


def log_for(settings: Settings, form: LogFormat, level: LogLevel) -> Log:
    """Open the log on standard error, with the configuration's secrets redacted."""
    return open_log(sys.stderr, form=form, redactor=redactor_for(settings), now=SystemClock().now, level=level.number)
