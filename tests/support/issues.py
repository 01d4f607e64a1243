"""Issues and notices for tests, and runs that make them."""

import dataclasses
import datetime as dt
import itertools

from prober.domain.canary import Canary
from prober.domain.finding import Finding, Reason
from prober.domain.issue import Issue, IssueChange, IssueState
from prober.domain.notice import Donor, IssueNotice, Route, VerdictNotice
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.store.database import Database
from prober.store.ledger import SqlLedger
from prober.store.lookups import LedgerLookups
from tests.support.evidence import a_probe, a_prompt
from tests.support.ledger import SettableClock
from tests.support.reports import a_clean_report, a_leak, a_probe_summary, a_run
from tests.support.stored import ESTIMATE, judged

SEEN = dt.datetime(2026, 9, 1, 12, 0, 5, tzinfo=dt.UTC)
OPS = Route(receiver="ops")


def an_issue(**changes: object) -> Issue:
    issue = Issue(
        issue_id=12,
        fingerprint="ab" * 32,
        target="staging",
        detector="foreign_canary",
        reason=Reason.FOREIGN_CANARY,
        outcome=Outcome.VIOLATION,
        state=IssueState.OPEN,
        first_seen=SEEN,
        last_seen=SEEN,
        opened_at=SEEN,
        count=3,
        kinds=("K2",),
        scenarios=("seed_and_probe",),
        evidence_bits=36.6,
        last_run_id="run-1",
        last_finding_id=7,
    )
    return dataclasses.replace(issue, **changes)


def a_notice(change: IssueChange = IssueChange.OPENED, event_id: str = "event-1", **changes: object) -> IssueNotice:
    donors = (Donor(canary="t0002-p00000004d", tenant="bravo", run_id="run-0"),)
    return IssueNotice(event_id=event_id, at=SEEN, change=change, issue=an_issue(**changes), donors=donors)


def a_verdict_notice(**changes: object) -> VerdictNotice:
    notice = VerdictNotice(
        event_id="run-1-violation",
        at=SEEN,
        run_id="run-1",
        target="staging",
        build="2026-09-01",
        outcome=Outcome.VIOLATION,
        reasons=(Reason.FOREIGN_CANARY,),
    )
    return dataclasses.replace(notice, **changes)


def a_finding(
    outcome: Outcome = Outcome.VIOLATION, reason: Reason = Reason.FOREIGN_CANARY, **changes: object
) -> Finding:
    return a_leak(**{"outcome": outcome, "reason": reason, "sightings": (), **changes})


class Replica:
    """One prober process's ledger, and what runs do through it."""

    _serial = itertools.count(1)

    def __init__(self, database: Database, clock: SettableClock, routes: tuple[Route, ...] = ()) -> None:
        self.clock = clock
        self.ledger = SqlLedger(database, clock, routes=routes)
        self.lookups = LedgerLookups(database, clock)

    async def begin(self, **changes: object) -> "StartedRun":
        run = a_run(**{"run_id": f"run-{next(self._serial)}", "started_at": self.clock.now(), **changes})
        await self.ledger.open_run(run, ESTIMATE)
        return StartedRun(self, run)

    async def find(self, *findings: Finding, scenario: str = "seed_and_probe", **changes: object) -> str:
        """A run of which one probe came back with these findings; still open."""
        started = await self.begin(**changes)
        await started.probe(*findings, scenario=scenario)
        return started.run.run_id

    async def run_clean(self, *scenarios: str, **changes: object) -> str:
        """A run whose scenarios were clean throughout."""
        started = await self.begin(**changes)
        await started.close(clean_report(started, scenarios))
        return started.run.run_id


class StartedRun:
    """A run under way."""

    def __init__(self, replica: Replica, run: object) -> None:
        self.replica = replica
        self.run = run

    async def probe(self, *findings: Finding, scenario: str = "seed_and_probe") -> None:
        serial = next(Replica._serial)
        probe = a_probe(label=f"{scenario}/{serial:04d}", scenario=scenario)
        prompt = a_prompt(canary=Canary.of(1, 0, serial))
        await self.replica.ledger.remember(self.run, [(probe, prompt)])
        await self.replica.ledger.record(self.run, judged(*findings, probe=probe, prompt=prompt))

    async def close(self, report: RunReport) -> None:
        await self.replica.ledger.close_run(
            dataclasses.replace(report, run=self.run, ended_at=self.replica.clock.now())
        )


def clean_report(started: StartedRun, scenarios: tuple[str, ...], **changes: object) -> RunReport:
    probes = tuple(
        a_probe_summary(label=f"{scenario}/0001", scenario=scenario, outcome=Outcome.CLEAN, reasons=())
        for scenario in scenarios
    )
    return dataclasses.replace(a_clean_report(), **{"run": started.run, "findings": (), "probes": probes, **changes})
