import io
import logging
from pathlib import Path

import pytest

from prober.telemetry.logs import Log, LogFormat, open_log
from prober.telemetry.redaction import Redactor
from prober.wiring.system import SystemClock
from tests.store.conftest import (
    clock,
    database,
    postgres_database,
    postgres_server,
    postgres_template,
    sqlite_database,
    sqlite_template,
)
from tests.support.command import Workplace, workplace

__all__ = [
    "clock",
    "database",
    "place",
    "postgres_database",
    "postgres_server",
    "postgres_template",
    "quiet_log",
    "sqlite_database",
    "sqlite_template",
]


@pytest.fixture(scope="session")
def quiet_log() -> Log:
    """A log that nobody reads."""
    return open_log(
        io.StringIO(), form=LogFormat.JSON, redactor=Redactor(), now=SystemClock().now, level=logging.CRITICAL
    )


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """A folder to run the command in: key and database, no configuration yet."""
    return workplace(tmp_path)
