"""What kills did to a SQLite ledger: read from the file, past the prober."""

import contextlib
import dataclasses
import json
import math
import pathlib
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks.figure import Figure
from prober.domain.canary import Canary
from prober.wiring.prober import ABANDONED_AFTER

SILENCE = int(ABANDONED_AFTER.total_seconds()) + 1
"""Seconds after which a run of the command line counts as abandoned."""


class File:
    """The ledger's file, while no process of the prober writes it."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(self._path, timeout=10)) as connection:
            return connection.execute(query, values).fetchall()

    def damage(self) -> list[str]:
        """What SQLite finds wrong with the file, and rows that refer to none."""
        integrity = [text for (text,) in self.rows("PRAGMA integrity_check") if text != "ok"]
        return integrity + [f"{row}" for row in self.rows("PRAGMA foreign_key_check")]

    def runs(self) -> set[str]:
        return {run_id for (run_id,) in self.rows("SELECT run_id FROM runs")}

    def open_runs(self) -> set[str]:
        return {run_id for (run_id,) in self.rows("SELECT run_id FROM runs WHERE ended_at IS NULL")}

    def canaries(self) -> set[Canary]:
        """All that were ever remembered."""
        rows = self.rows("SELECT tenant_number, epoch, probe_number FROM probes")
        return {Canary(tenant, probe) for tenant, _epoch, probe in rows}

    def answered(self, run_id: str) -> set[Canary]:
        """Those of a run's probes that have an observation with a first byte."""
        query = """
            SELECT tenant_number, probe_number FROM probes JOIN observations ON probe_id = probes.id
            WHERE run_id = ? AND status IS NOT NULL
        """
        return {Canary(tenant, probe) for tenant, probe in self.rows(query, run_id)}

    def verdict(self, run_id: str) -> tuple[str | None, tuple[str, ...]]:
        """Outcome and reasons; None while the run is open."""
        ((outcome, reasons),) = self.rows("SELECT outcome, reasons FROM runs WHERE run_id = ?", run_id)
        return outcome, tuple(json.loads(reasons or "[]"))

    def job(self, job_id: str) -> tuple[str, str | None]:
        """State and outcome."""
        ((state, outcome),) = self.rows("SELECT state, outcome FROM jobs WHERE job_id = ?", job_id)
        return state, outcome

    def pass_silence(self) -> None:
        """Let as much time pass for open runs as it takes until they count as abandoned."""
        shifted = "strftime('%Y-%m-%d %H:%M:%f000', last_seen_at, ?)"
        with contextlib.closing(sqlite3.connect(self._path, timeout=10)) as connection, connection:
            connection.execute(
                f"UPDATE runs SET last_seen_at = {shifted} WHERE ended_at IS NULL",  # noqa: S608 - our own words
                (f"-{SILENCE} seconds",),
            )


@dataclasses.dataclass
class Toll:
    """Of all kills of one command."""

    kills: int = 0
    interrupted: int = 0
    """Runs that were open when their process was killed."""
    finished: int = 0
    """Runs that had their verdict by then."""
    received: int = 0
    """Canaries that the lab got from processes that were killed."""
    unknown: list[str] = dataclasses.field(default_factory=list)
    """Of these, such as the ledger does not know."""
    unseen: list[str] = dataclasses.field(default_factory=list)
    """Answered probes whose canary was not seen on the wire: then the look-out would be blind."""
    damaged: list[str] = dataclasses.field(default_factory=list)
    still_open: list[str] = dataclasses.field(default_factory=list)
    """Interrupted runs that the next start did not close."""
    misjudged: list[str] = dataclasses.field(default_factory=list)
    """Interrupted runs that were not closed as INCONCLUSIVE."""
    failed_next: list[str] = dataclasses.field(default_factory=list)
    """Next starts that did not come to a clean verdict."""
    longest_wait: float = math.nan
    """Seconds by which the service was late to close a run."""

    def examine(self, file: File, before: set[str], received: set[Canary]) -> set[str]:
        """Look at the file right after a kill; gives the runs that it left open.

        Args:
            file: the ledger.
            before: runs that were there when the killed process started.
            received: canaries that the lab got from it.
        """
        self.kills += 1
        self.damaged += file.damage()
        self.received += len(received)
        self.unknown += map(str, received - file.canaries())
        new, left_open = file.runs() - before, file.open_runs() - before
        self.unseen += [str(canary) for run_id in new for canary in file.answered(run_id) - received]
        self.interrupted += len(left_open)
        self.finished += len(new - left_open)
        return left_open

    def examine_closed(self, file: File, left_open: Iterable[str]) -> None:
        """Look at what the next start made of them."""
        self.damaged += file.damage()
        for run_id in left_open:
            outcome, reasons = file.verdict(run_id)
            if outcome is None:
                self.still_open.append(run_id)
            elif outcome != "inconclusive" or reasons != ("interrupted",):
                self.misjudged.append(f"{outcome} {reasons}")

    def figures(self, command: str, count: int) -> Iterator[Figure]:
        """What the figures are about."""
        yield Figure(
            name=f"SIGKILL of {command}",
            value=self.kills,
            unit="times",
            at_least=count,
            beside=f"runs under way: {self.interrupted}; not begun or over: {self.kills - self.interrupted}",
        )
        yield _none(
            "canaries that the ledger did not know", self.unknown, f"of {self.received:,} that the lab received"
        )
        yield _none("answered probes not seen on the wire", self.unseen)
        yield _none("faults that SQLite found in the file", self.damaged)
        yield _none("runs that the next start left open", self.still_open, f"of {self.interrupted}")
        yield _none("of these not closed as INCONCLUSIVE", self.misjudged)
        yield _none("next starts without a clean verdict of their own", self.failed_next)


def _none(name: str, found: list[str], beside: str = "") -> Figure:
    return Figure(name=f"  {name}", value=len(found), unit="", at_most=0, beside="; ".join(found[:3]) or beside)
