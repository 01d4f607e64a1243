"""An in-memory ledger with the real one's contract, and a clock to set."""

import dataclasses
import datetime as dt
from collections.abc import Sequence

from prober.detect.marking import mark_of
from prober.domain.campaign import Run
from prober.domain.canary import Canary
from prober.domain.errors import LedgerError
from prober.domain.evidence import Judgement
from prober.domain.finding import Finding, Reason
from prober.domain.mark import AnswerMark
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Role
from prober.domain.prompt import Prompt
from prober.domain.verdict import RunReport, Spending
from prober.store.marks import is_kept
from prober.store.rows import StoredCanary, StoredFinding, StoredRun, StoredTally


class SettableClock:
    """Time that stands still until it is moved."""

    def __init__(self, now: dt.datetime = dt.datetime(2026, 9, 1, 12, tzinfo=dt.UTC)) -> None:
        self.date = now
        self.seconds = 0.0

    def now(self) -> dt.datetime:
        return self.date

    def monotonic(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.date += dt.timedelta(seconds=seconds)
        self.seconds += seconds


class MemoryLedger:
    """`runner.ports.Ledger` and the look-ups, in memory. `judgements` holds what was recorded, in order."""

    def __init__(self, clock: SettableClock | None = None) -> None:
        self.clock = clock or SettableClock()
        self.stored_runs: dict[str, StoredRun] = {}
        self.estimates: dict[str, Spending] = {}
        self.seen: dict[str, dt.datetime] = {}
        self.canaries: list[StoredCanary] = []
        self.judgements: list[Judgement] = []
        self.reports: list[RunReport] = []
        self.recorded: list[tuple[str, Judgement]] = []
        self.kept: list[tuple[str, AnswerMark]] = []
        self._findings: list[StoredFinding] = []
        self._recorded: set[tuple[str, str, Canary]] = set()
        self._serial = 0

    async def open_run(self, run: Run, estimate: Spending) -> None:
        if run.run_id in self.stored_runs:
            raise LedgerError("The run is known already.")
        self.estimates[run.run_id] = estimate
        self.seen[run.run_id] = self.clock.now()
        self.stored_runs[run.run_id] = StoredRun(
            run_id=run.run_id,
            target=run.campaign.target.name,
            build=run.campaign.target.build,
            started_at=run.started_at,
            ended_at=None,
            outcome=None,
            reasons=(),
            probes=None,
            spent=None,
            trigger=run.trigger,
            scenarios=run.campaign.scenarios,
        )

    async def remember(self, run: Run, planned: Sequence[tuple[Probe, Prompt]]) -> None:
        if not planned:
            return
        self._touch(run.run_id)
        now = self.clock.now()
        new = [
            StoredCanary(
                canary=prompt.canary,
                run_id=run.run_id,
                label=probe.label,
                tenant=probe.tenant.name,
                planned_tokens=prompt.planned_tokens,
                remembered_at=now,
            )
            for probe, prompt in planned
        ]
        keys = [(known.run_id, known.label, known.canary) for known in (*self.canaries, *new)]
        if len(keys) != len(set(keys)):
            raise LedgerError("The probe is known already.")
        self.canaries.extend(new)

    async def record(self, run: Run, judgement: Judgement) -> None:
        self._touch(run.run_id)
        label, canary = judgement.evidence.probe.label, judgement.evidence.prompt.canary
        key = (run.run_id, label, canary)
        if key in self._recorded or key not in {(known.run_id, known.label, known.canary) for known in self.canaries}:
            raise LedgerError("The probe was not remembered, or is recorded already.")
        self._recorded.add(key)
        if is_kept(judgement.evidence.probe):
            self.kept.append((run.run_id, mark_of(judgement)))
        self.judgements.append(judgement)
        self.recorded.append((run.run_id, judgement))
        for finding in judgement.findings:
            self._add(run.run_id, dataclasses.replace(finding, probe_label=label), self.clock.now())

    async def reference(self, run: Run) -> tuple[AnswerMark, ...]:
        earlier = [known for known in await self.runs(target=run.campaign.target.name) if known.run_id != run.run_id]
        kept = [[mark for run_id, mark in self.kept if run_id == known.run_id] for known in earlier]
        return tuple(next(filter(None, kept), ()))

    async def close_run(self, report: RunReport) -> None:
        run_id = report.run.run_id
        self._require(run_id)
        self.reports.append(report)
        self._close(run_id, report.ended_at, report.verdict.outcome, report.verdict.reasons)
        self.stored_runs[run_id] = dataclasses.replace(
            self.stored_runs[run_id],
            probes=report.verdict.probes,
            spent=report.spent,
            conclusive=report.verdict.conclusive,
            clean=report.verdict.clean,
            leak_rate_upper95=report.verdict.leak_rate_upper95,
        )
        self._findings = [stored for stored in self._findings if stored.run_id != run_id or stored.finding.probe_label]
        for finding in report.findings:
            if not finding.probe_label:
                self._add(run_id, finding, report.ended_at)

    async def close_abandoned(self, unseen_for: dt.timedelta) -> tuple[str, ...]:
        now = self.clock.now()
        runs = sorted(self.stored_runs.values(), key=lambda run: run.started_at)
        abandoned = [run.run_id for run in runs if run.ended_at is None and self.seen[run.run_id] <= now - unseen_for]
        for run_id in abandoned:
            found = [stored.finding for stored in self._findings if stored.run_id == run_id]
            outcome = max([Outcome.INCONCLUSIVE, *(each.outcome for each in found)], key=lambda each: each.rank)
            reasons = [*(each.reason for each in found if each.outcome is outcome), Reason.INTERRUPTED]
            self._close(run_id, now, outcome, tuple(dict.fromkeys(reasons)))
            note = Finding(
                detector="ledger", outcome=Outcome.INCONCLUSIVE, reason=Reason.INTERRUPTED, message="Abandoned."
            )
            self._add(run_id, note, now)
        return tuple(abandoned)

    async def runs(
        self, *, target: str | None = None, limit: int = 50, before: str | None = None
    ) -> tuple[StoredRun, ...]:
        found = [run for run in self.stored_runs.values() if target in {None, run.target}]
        found.sort(key=lambda run: run.run_id)
        found.sort(key=lambda run: run.started_at, reverse=True)
        names = [run.run_id for run in found]
        first = 0 if before is None else names.index(before) + 1 if before in names else len(names)
        return tuple(found[first : first + limit])

    async def run(self, run_id: str) -> StoredRun | None:
        return self.stored_runs.get(run_id)

    async def findings(
        self,
        *,
        worse_than: Outcome = Outcome.CLEAN,
        run_id: str | None = None,
        target: str | None = None,
        reason: Reason | None = None,
        is_acknowledged: bool | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> tuple[StoredFinding, ...]:
        found = [
            dataclasses.replace(stored, finding=dataclasses.replace(stored.finding, sightings=()))
            for stored in self._findings
            if stored.finding.outcome.rank > worse_than.rank
            and run_id in {None, stored.run_id}
            and target in {None, stored.target}
            and reason in {None, stored.finding.reason}
            and (before is None or stored.finding_id < before)
            and is_acknowledged in {None, stored.acknowledged_at is not None}
        ]
        return tuple(sorted(found, key=lambda stored: stored.finding_id, reverse=True)[:limit])

    async def finding(self, finding_id: int) -> StoredFinding | None:
        stored = next((stored for stored in self._findings if stored.finding_id == finding_id), None)
        if stored is None:
            return None
        canaries = dict.fromkeys(sighting.canary for sighting in stored.finding.sightings)
        owners = [await self.whose(canary) for canary in canaries]
        return dataclasses.replace(stored, donors=tuple(owner for owner in owners if owner is not None))

    async def acknowledge(self, finding_id: int, by: str) -> bool:
        for position, stored in enumerate(self._findings):
            if stored.finding_id == finding_id:
                if stored.acknowledged_at is None:
                    self._findings[position] = dataclasses.replace(
                        stored, acknowledged_at=self.clock.now(), acknowledged_by=by
                    )
                return True
        return False

    async def tallies(self, target: str) -> tuple[StoredTally, ...]:
        groups: dict[tuple[str, str, Outcome], list[dt.datetime]] = {}
        for run_id, judgement in self.recorded:
            run, probe = self.stored_runs[run_id], judgement.evidence.probe
            if run.target == target and probe.role in {Role.CHECK, Role.CONFIRMATION}:
                key = (probe.scenario, run.build, judgement.outcome)
                groups.setdefault(key, []).append(judgement.evidence.observation.sent_at)
        keys = sorted(groups, key=lambda key: (key[0], key[1], key[2].value))
        return tuple(
            StoredTally(
                scenario=scenario,
                build=build,
                outcome=outcome,
                probes=len(groups[scenario, build, outcome]),
                last_at=max(groups[scenario, build, outcome]),
            )
            for scenario, build, outcome in keys
        )

    async def whose(self, canary: Canary) -> StoredCanary | None:
        return next((known for known in self.canaries if known.canary == canary), None)

    def _add(self, run_id: str, finding: Finding, found_at: dt.datetime) -> None:
        self._serial += 1
        self._findings.append(
            StoredFinding(
                finding_id=self._serial,
                run_id=run_id,
                target=self.stored_runs[run_id].target,
                found_at=found_at,
                finding=finding,
                acknowledged_at=None,
                acknowledged_by=None,
            )
        )

    def _close(self, run_id: str, ended_at: dt.datetime, outcome: Outcome, reasons: Sequence[Reason]) -> None:
        self.stored_runs[run_id] = dataclasses.replace(
            self.stored_runs[run_id], ended_at=ended_at, outcome=outcome, reasons=tuple(reasons)
        )

    def _touch(self, run_id: str) -> None:
        self._require(run_id)
        self.seen[run_id] = self.clock.now()

    def _require(self, run_id: str) -> None:
        if run_id not in self.stored_runs:
            raise LedgerError("The run was never opened.")
