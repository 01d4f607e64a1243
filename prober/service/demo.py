"""The demo: the incident's cluster must be found, the repaired one must be cleared."""

import dataclasses
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.runner.ports import Telemetry
from prober.service.lab_run import LabRun, perform
from prober.telemetry.logs import Log

SCENARIOS = ("baseline", "limit_sweep")
SETTINGS: Mapping[str, Any] = {
    "baseline_tokens": 340_000,
    "baseline_probes": 2,
    "anchor_probes": 3,
    "seed_tokens": 700_000,
    "sweep_max_probes": 6,
}
"""As little as shows everything: one seeding that an over-limit probe can read, and the sweep's most telling points."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One half of the demo."""

    title: str
    scene: str
    expected: Outcome

    @property
    def lab_run(self) -> LabRun:
        """What this act runs against which cluster."""
        return LabRun(scene=self.scene, scenarios=SCENARIOS, settings=SETTINGS)


ACTS = (
    Act(
        title="Act one: the cluster of the incident (SGLang 0.5.19 behaviour, prefill pool smaller than the context)",
        scene="incident",
        expected=Outcome.VIOLATION,
    ),
    Act(
        title="Act two: the same cluster, repaired (0.5.21 behaviour, router cancels on refusal)",
        scene="fixed",
        expected=Outcome.CLEAN,
    ),
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One act with its report."""

    act: Act
    report: RunReport

    @property
    def is_as_expected(self) -> bool:
        """Act one must attribute foreign text to its donor's very request; act two must be clean."""
        if self.report.verdict.outcome is not self.act.expected:
            return False
        return self.act.expected is not Outcome.VIOLATION or any(map(self._is_attributed, self.report.findings))

    def _is_attributed(self, finding: Finding) -> bool:
        is_leak = finding.outcome is Outcome.VIOLATION and finding.reason is Reason.FOREIGN_CANARY
        return is_leak and any(str(sighting.canary) in self.report.donor_labels for sighting in finding.sightings)


async def play(
    *, log: Log, watchers: Sequence[Telemetry] = (), acts: Sequence[Act] = ACTS
) -> AsyncIterator[Act | Played]:
    """Play the acts in order; yields each act before it starts, and its report after.

    Raises:
        ProberError: as a run raises.
    """
    for act in acts:
        yield act
        report = await perform(act.lab_run, log=log, watchers=watchers)
        yield Played(act=act, report=report)
