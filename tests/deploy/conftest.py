"""What tests of the deployment share."""

from pathlib import Path

import pytest

from tests.support.command import Workplace, workplace
from tests.support.markdown import codes, document, rows


@pytest.fixture(scope="session")
def documented_series() -> dict[str, str]:
    """Series -> kind, as the page on metrics lists them; that page is held to the code by tests/architecture."""
    return {codes(cells[0])[0]: cells[1] for cells in rows(document("docs/metrics.md"))}


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """A folder to run the command in: key and database, no configuration yet."""
    return workplace(tmp_path)
