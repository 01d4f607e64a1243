"""The judge of kills sees a canary that nobody remembered, a damaged file, and a run that was judged too early."""

import sqlite3
from pathlib import Path

import pytest

from prober.domain.canary import Canary
from reliability.toll import File, Toll

KNOWN, STRAY = Canary(1, 10), Canary(2, 99)


class HeldFile(File):
    """A ledger of one run that was open when its process was killed."""

    def __init__(self, **facts: object) -> None:
        self.facts: dict[str, object] = {"damage": [], "verdict": ("inconclusive", ("interrupted",)), **facts}

    def damage(self) -> list[str]:
        return list(self.facts["damage"])

    def runs(self) -> set[str]:
        return {"before", "killed"}

    def open_runs(self) -> set[str]:
        return {"killed"}

    def canaries(self) -> set[Canary]:
        return {KNOWN}

    def answered(self, run_id: str) -> set[Canary]:
        return {KNOWN} if run_id == "killed" else {STRAY}

    def verdict(self, run_id: str) -> tuple[str | None, tuple[str, ...]]:
        return self.facts["verdict"]


def missed(received: set[Canary], **facts: object) -> list[str]:
    """Figures that miss their bounds after one kill."""
    toll, file = Toll(), HeldFile(**facts)
    toll.examine_closed(file, toll.examine(file, {"before"}, received))
    return [figure.name.strip() for figure in toll.figures("prober run", 1) if figure.is_missed]


def test_a_kill_that_did_no_harm_passes():
    """All that was sent is known, all that came back was seen on the wire, and the run was closed as interrupted."""
    assert missed({KNOWN}) == []


@pytest.mark.parametrize(
    ("received", "facts", "figure"),
    [
        ({KNOWN, STRAY}, {}, "canaries that the ledger did not know"),
        (set(), {}, "answered probes not seen on the wire"),
        ({KNOWN}, {"damage": ["page 3 is never used"]}, "faults that SQLite found in the file"),
        ({KNOWN}, {"verdict": (None, ())}, "runs that the next start left open"),
        ({KNOWN}, {"verdict": ("clean", ("served",))}, "of these not closed as INCONCLUSIVE"),
    ],
)
def test_harm_is_found(received: set[Canary], facts: dict[str, object], figure: str):
    """Each kind of harm misses the bound of its own figure."""
    assert missed(received, **facts) == [figure]


def test_fewer_kills_than_asked_for_miss_the_bound():
    """A trial that killed less than it should have shows nothing."""
    assert next(figure.is_missed for figure in Toll().figures("prober run", 1))


def test_a_damaged_file_is_reported(tmp_path: Path):
    """SQLite's own check and its foreign keys are asked, and what they say is kept."""
    path = tmp_path / "prober.db"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (a REFERENCES a)")
    connection.executescript("INSERT INTO a VALUES (1); INSERT INTO b VALUES (1)")
    assert File(path).damage() == []
    connection.executescript("DELETE FROM a")
    connection.close()

    assert File(path).damage() != []
