"""One self-test of the service: from a lab that leaks to a receiver that hears of it, step by step."""

import asyncio
import contextlib
import dataclasses
import secrets
from collections.abc import Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from prober.domain.campaign import Trigger
from prober.domain.errors import LedgerError, ProberError
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.self_test import self_test_name
from prober.domain.verdict import RunReport
from prober.service.self_watch_alert import NotToldError, alert
from prober.service.self_watch_lab import LabOpening, child_lab, leaking_lab, target_of
from prober.store.self_test_rows import forget, forget_stale
from prober.telemetry.logs import Log
from prober.telemetry.self_test_series import VIOLATIONS, SelfTestSeries, Step
from prober.wiring.campaigns import campaign_of
from prober.wiring.prober import Prober
from prober.wiring.self_test import self_testing
from prober.wiring.system import SystemClock

SECONDS: Final = MappingProxyType(
    {Step.LAB: 15.0, Step.DETECTOR: 45.0, Step.LEDGER: 5.0, Step.METRIC: 5.0, Step.ALERT: 15.0}
)
"""Most that each step may take; all of them together take about five on an idle machine."""

CUT_SECONDS = 3.0
"""What a step that was cut gets to end, before it is cut again and left."""

END_LAB_SECONDS = 12.0
"""Likewise for the lab's child, which is killed after ten."""

FORGET_SECONDS = 5.0

Given = TypeVar("Given")


class StepFailedError(Exception):
    """A step did not show what it must; the text is in our words."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What the ledger, the metrics and the receiver must know of."""

    prober: Prober
    name: str
    report: RunReport


class SelfTestPath:
    """One self-test: `walk` it once. `step` is where it stands, or where it failed."""

    def __init__(
        self,
        prober: Prober,
        series: SelfTestSeries,
        *,
        log: Log,
        lab: LabOpening = child_lab,
        seconds: Mapping[Step, float] = SECONDS,
    ) -> None:
        """Open nothing.

        Args:
            prober: the service's own, as configured now.
            series: in its registry.
            log: tells of what cannot be cleaned up.
            lab: serves what is probed.
            seconds: most that each step may take.
        """
        self.step = Step.LAB
        self._prober = prober
        self._series = series
        self._log = log
        self._lab = lab
        self._seconds = seconds
        self._before = 0.0

    async def walk(self) -> None:
        """Go through all steps, in order.

        Raises:
            StepFailedError: one of them did not show what it must, or did not end in time.
        """
        # Replicas test themselves side by side on one database.
        name = self_test_name(secrets.token_hex(4))
        try:
            found = await self._find(name)
            await self._at(Step.LEDGER, _read_back(found))
            await self._at(Step.METRIC, self._look_up(found))
            await self._at(Step.ALERT, alert(found.prober, self._prober.settings, name, self._log))
        finally:
            await self._forget(name)

    async def _find(self, name: str) -> _Found:
        """Probe the lab; it has ended when this returns."""
        order = leaking_lab()
        async with contextlib.AsyncExitStack() as stack:
            lab = await self._at(Step.LAB, stack.enter_async_context(self._lab(order)), END_LAB_SECONDS)
            prober = self_testing(self._prober, name, target_of(order, lab.url), self._series)
            self._before = self._violations()
            campaign = campaign_of(prober.settings, name)
            report = await self._at(Step.DETECTOR, prober.run(campaign, Trigger.MANUAL))
        if not any(_is_proof(finding, report) for finding in report.findings):
            raise StepFailedError(f"a lab that leaks was judged {report.verdict.outcome.name}, and no leak was named")
        return _Found(prober=prober, name=name, report=report)

    async def _look_up(self, found: _Found) -> None:
        labels = {"reason": Reason.FOREIGN_CANARY.value, "outcome": Outcome.VIOLATION.value}
        counted = found.prober.metrics.shown("prober_findings_total", target=found.name, **labels)
        if not counted:
            raise StepFailedError("the finding was not counted")
        if not self._violations() > self._before:
            raise StepFailedError(f"{VIOLATIONS} did not move where it is scraped")

    def _violations(self) -> float:
        return self._prober.metrics.shown(VIOLATIONS) or 0.0

    async def _at(self, step: Step, work: Coroutine[Any, Any, Given], cut_seconds: float = CUT_SECONDS) -> Given:
        """Do the work of a step, within its bound."""
        self.step = step
        task = asyncio.ensure_future(work)
        try:
            done, _ = await asyncio.wait({task}, timeout=self._seconds[step])
            if not done:
                raise StepFailedError(f"did not end within {self._seconds[step]:g} s")
            return task.result()
        except (ProberError, NotToldError) as error:
            raise StepFailedError(str(error)) from None
        finally:
            await _cut(task, cut_seconds)

    async def _forget(self, name: str) -> None:
        """Leave nothing behind; what cannot be deleted now, a later self-test or pruning will."""
        database = self._prober.database
        try:
            async with asyncio.timeout(FORGET_SECONDS):
                await forget(database, name)
                await forget_stale(database, SystemClock().now())
        except (LedgerError, TimeoutError) as error:
            self._log.warning("selftest_not_forgotten", reason=str(error) or "no answer in time")


def _is_proof(finding: Finding, report: RunReport) -> bool:
    """A violation that names a canary of another tenant of the run: whose text came out in whose answer."""
    if finding.outcome is not Outcome.VIOLATION or finding.reason is not Reason.FOREIGN_CANARY:
        return False
    asked = {probe.label: probe.tenant for probe in report.probes}[finding.probe_label]
    donors = {report.tenant_names.get(sighting.canary.tenant_number) for sighting in finding.sightings}
    return bool(donors - {None, asked})


async def _read_back(found: _Found) -> None:
    """Require the run's verdict, and its finding with who sent the canary, from the database."""
    lookups, run_id = found.prober.lookups, found.report.run.run_id
    stored = await lookups.run(run_id)
    if stored is None or stored.ended_at is None or stored.outcome is not Outcome.VIOLATION:
        raise StepFailedError("the run's verdict is not in the database")
    for each in await lookups.findings(run_id=run_id, reason=Reason.FOREIGN_CANARY, worse_than=Outcome.SUSPECT):
        whole = await lookups.finding(each.finding_id)
        if whole is not None and any(donor.run_id == run_id for donor in whole.donors):
            return
    raise StepFailedError("the finding, or who sent the canary, is not in the database")


async def _cut(task: asyncio.Future[Any], seconds: float) -> None:
    """End what has not ended: the first time it may still write down what it knows, the second time it may not."""
    for _ in range(2):
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=seconds)
    # Whatever it ends with, if ever: nobody waits for it any more.
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
