"""A folder to run the command in."""

from pathlib import Path

import pytest

from tests.support.command import Workplace, workplace


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """Key and database, no configuration yet."""
    return workplace(tmp_path)
