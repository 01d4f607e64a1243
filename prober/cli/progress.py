"""Progress of a run for people: a live line on a terminal, one line per step in a pipe."""

import contextlib
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from prober.domain.budget import Shortage
from prober.domain.campaign import Run
from prober.domain.evidence import Judgement
from prober.domain.outcome import Outcome
from prober.domain.probe import Wave
from prober.domain.verdict import RunReport, Spending
from prober.report.console import STYLES, spending_words


class ProgressDisplay(contextlib.AbstractContextManager["ProgressDisplay"]):
    """A `runner.ports.Telemetry` that shows; use as a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._is_live = console.is_terminal
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis")),
            BarColumn(bar_width=12),
            MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=len("100/100"))),
            TimeElapsedColumn(table_column=Column(no_wrap=True, min_width=len("0:00:00"))),
            console=console,
            transient=True,
            disable=not self._is_live,
        )
        self._task = self._progress.add_task("starting", total=None)
        self._shown = ""
        self.report: RunReport | None = None
        """The run's, once it has ended, in the database or not."""
        self.is_waiting = False
        """The database was gone when it was last heard of."""

    def __enter__(self) -> Self:
        """Start the display."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the display away."""
        self._progress.stop()

    def run_started(self, run: Run, estimate: Spending) -> None:
        """Say what is about to be spent, before it is."""
        target = run.campaign.target
        self._console.print(
            f"run {run.run_id}: target {target.name}, scenarios {', '.join(run.campaign.scenarios)}",
            highlight=False,
            soft_wrap=True,
        )
        self._console.print(
            f"estimate for a healthy target, refused prompts counted in full: {spending_words(estimate)}; "
            f"hard cap {run.campaign.max_run_tokens:,} tokens",
            highlight=False,
            soft_wrap=True,
        )
        self._progress.update(self._task, total=estimate.requests, completed=0)

    def budget_short(self, run: Run, shortages: Sequence[Shortage]) -> None:  # noqa: ARG002 - part of the port
        """Say which caps may end the run early."""
        for shortage in shortages:
            self._console.print(f"budget: the estimate would pass {shortage}", markup=False, soft_wrap=True)

    def wave_started(self, run: Run, wave: Wave, spent: Spending) -> None:  # noqa: ARG002 - part of the port
        """Say what goes out."""
        step = f"{wave.probes[0].scenario}: {wave.purpose}"
        self._progress.update(self._task, description=step)
        if not self._is_live and step != self._shown:
            self._console.print(f"  {step}", highlight=False, soft_wrap=True)
        self._shown = step

    def probe_judged(self, run: Run, judgement: Judgement, spent: Spending) -> None:  # noqa: ARG002 - part of the port
        """Count, and show at once what is bad."""
        self._progress.advance(self._task)
        worst = max(judgement.findings, key=lambda finding: finding.outcome.rank, default=None)
        if worst is not None and worst.outcome.rank >= Outcome.SUSPECT.rank:
            self._console.print(
                f"  [{STYLES[worst.outcome]}] {worst.outcome.name} [/] {worst.probe_label}: {worst.reason.value}",
                highlight=False,
                soft_wrap=True,
            )

    def run_ended(self, report: RunReport) -> None:
        """Keep the report, should the run not live to hand it over."""
        self.report = report

    def database_awaited(self, run: Run, why: str, seconds: float) -> None:  # noqa: ARG002 - part of the port
        """Say what is waited for."""
        self.is_waiting = True
        self._console.print(
            f"  waiting up to {seconds:.0f} s for the database; nothing is sent meanwhile. {why}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )

    def database_back(self, run: Run, seconds: float) -> None:  # noqa: ARG002 - part of the port
        """Say that it goes on."""
        self.is_waiting = False
        self._console.print(f"  the database is back after {seconds:.0f} s", highlight=False)

    def internal_error(self, component: str, error: BaseException) -> None:
        """Say which part of the prober failed."""
        self._console.print(f"  internal error in {component}: {type(error).__name__}", highlight=False)
