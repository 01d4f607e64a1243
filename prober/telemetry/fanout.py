"""Several kinds of telemetry as one that never raises: a full disk must not stop a run, let alone turn it green."""

import contextlib
from collections.abc import Callable, Sequence

from prober.domain.budget import Shortage
from prober.domain.campaign import Run
from prober.domain.evidence import Judgement
from prober.domain.probe import Wave
from prober.domain.verdict import RunReport, Spending
from prober.runner.ports import Telemetry

COMPONENT = "telemetry"
"""Name under which a member's failure is reported to the others."""


class Fanout:
    """Tells every member everything, in order. Satisfies `runner.ports.Telemetry`; never raises."""

    def __init__(self, members: Sequence[Telemetry]) -> None:
        self._members = tuple(members)

    def run_started(self, run: Run, estimate: Spending) -> None:
        """Pass on that a run began."""
        self._tell(lambda member: member.run_started(run, estimate))

    def budget_short(self, run: Run, shortages: Sequence[Shortage]) -> None:
        """Pass on that the run's estimate passes caps."""
        self._tell(lambda member: member.budget_short(run, shortages))

    def wave_started(self, run: Run, wave: Wave, spent: Spending) -> None:
        """Pass on that a wave goes out."""
        self._tell(lambda member: member.wave_started(run, wave, spent))

    def probe_judged(self, run: Run, judgement: Judgement, spent: Spending) -> None:
        """Pass on one probe's judgement."""
        self._tell(lambda member: member.probe_judged(run, judgement, spent))

    def run_ended(self, report: RunReport) -> None:
        """Pass on a verdict."""
        self._tell(lambda member: member.run_ended(report))

    def database_awaited(self, run: Run, why: str, seconds: float) -> None:
        """Pass on that the run stands still for its database."""
        self._tell(lambda member: member.database_awaited(run, why, seconds))

    def database_back(self, run: Run, seconds: float) -> None:
        """Pass on that it goes on."""
        self._tell(lambda member: member.database_back(run, seconds))

    def internal_error(self, component: str, error: BaseException) -> None:
        """Pass on a fault of our own."""
        self._tell(lambda member: member.internal_error(component, error))

    def _tell(self, call: Callable[[Telemetry], None]) -> None:
        for member in self._members:
            try:
                call(member)
            except Exception as error:  # noqa: BLE001  (whatever it is, the run goes on and the others hear of it)
                self._report(member, error)

    def _report(self, failed: Telemetry, error: Exception) -> None:
        for member in self._members:
            if member is not failed:
                with contextlib.suppress(Exception):
                    member.internal_error(COMPONENT, error)
