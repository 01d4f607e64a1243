"""A configured folder."""

from pathlib import Path

import pytest

from tests.support.command import Workplace, workplace


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """Key, database and a configuration that points nowhere."""
    return workplace(tmp_path).configure("http://127.0.0.1:9/v1")
