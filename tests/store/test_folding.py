"""Findings become issues: what each finding and each clean run does to them, on both databases."""

import asyncio
import dataclasses
import datetime as dt

import pytest
import sqlalchemy as sa

from prober.domain.campaign import Trigger
from prober.domain.finding import Reason
from prober.domain.issue import IssueChange, IssueState
from prober.domain.outcome import Outcome
from prober.domain.target import Target
from prober.store.database import Database
from prober.store.folding import Found, fold, sound_scenarios
from prober.store.issues import IssueBook
from prober.store.notices import notice_of
from prober.store.schema.issues import notices
from tests.support.evidence import a_prompt
from tests.support.issues import OPS, SEEN, Replica, a_finding, an_issue, clean_report
from tests.support.ledger import SettableClock
from tests.support.reports import DONOR_CANARY, STRANGER_CANARY, a_leak, a_probe_summary, a_report, a_sighting
from tests.support.stored import CHECK

NOW = SEEN + dt.timedelta(hours=1)
SUSPECT = a_finding(Outcome.SUSPECT, Reason.PREFILL_TOO_FAST, detector="prefill_floor")


def found(**changes: object) -> Found:
    return Found(finding_id=9, run_id="run-2", target="staging", finding=a_finding(**changes))


@pytest.fixture
def replica(database: Database, clock: SettableClock) -> Replica:
    return Replica(database, clock, (OPS,))


@pytest.fixture
def book(database: Database, clock: SettableClock) -> IssueBook:
    return IssueBook(database, clock, (OPS,))


async def told(database: Database) -> list[tuple[str, str]]:
    """Changes in the outbox, oldest first."""
    async with database.read() as connection:
        rows = await connection.execute(sa.select(notices.c.receiver, notices.c.facts).order_by(notices.c.id))
        return [(row.receiver, row.facts.get("change", row.facts["kind"])) for row in rows]


# --- one finding ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "worst", "outcome", "change", "after"),
    [
        (IssueState.OPEN, Outcome.VIOLATION, Outcome.VIOLATION, None, IssueState.OPEN),
        (IssueState.OPEN, Outcome.VIOLATION, Outcome.SUSPECT, None, IssueState.OPEN),
        (IssueState.OPEN, Outcome.SUSPECT, Outcome.VIOLATION, IssueChange.WORSENED, IssueState.OPEN),
        (IssueState.ACKNOWLEDGED, Outcome.SUSPECT, Outcome.SUSPECT, None, IssueState.ACKNOWLEDGED),
        (IssueState.ACKNOWLEDGED, Outcome.SUSPECT, Outcome.VIOLATION, IssueChange.WORSENED, IssueState.OPEN),
        (IssueState.RESOLVED, Outcome.VIOLATION, Outcome.SUSPECT, IssueChange.REOPENED, IssueState.OPEN),
        (IssueState.SUPPRESSED, Outcome.VIOLATION, Outcome.VIOLATION, None, IssueState.SUPPRESSED),
        (IssueState.SUPPRESSED, Outcome.SUSPECT, Outcome.VIOLATION, IssueChange.WORSENED, IssueState.OPEN),
    ],
)
def test_what_one_more_finding_changes(
    state: IssueState, worst: Outcome, outcome: Outcome, change: IssueChange | None, after: IssueState
):
    """More of the same changes nothing; worse lifts what was accepted; what was settled is back."""
    until = NOW + dt.timedelta(days=1) if state is IssueState.SUPPRESSED else None
    issue = an_issue(state=state, outcome=worst, suppressed_until=until)

    folded, made = fold(issue, found(outcome=outcome), ["baseline"], NOW)

    assert (made, folded.state, folded.count, folded.last_seen) == (change, after, 4, NOW)
    assert folded.outcome is (outcome if change else worst)
    assert (folded.last_run_id, folded.last_finding_id) == ("run-2", 9)
    assert folded.suppressed_until == (until if after is IssueState.SUPPRESSED else None)


def test_a_reopened_issue_counts_anew_what_belongs_to_its_opening():
    """Scenarios, evidence and worst outcome are those since it was opened; count and first date, its whole life's."""
    issue = an_issue(state=IssueState.RESOLVED, evidence_bits=80.0)

    folded, _ = fold(issue, found(outcome=Outcome.SUSPECT, evidence_bits=20.0), ["baseline"], NOW)

    assert (folded.scenarios, folded.evidence_bits, folded.outcome) == (("baseline",), 20.0, Outcome.SUSPECT)
    assert (folded.count, folded.first_seen, folded.opened_at, folded.reopened) == (4, SEEN, NOW, 1)


def test_a_suppression_that_is_over_reopens_with_the_next_finding():
    """It expires by itself: nobody has to lift it."""
    issue = an_issue(state=IssueState.SUPPRESSED, suppressed_until=NOW)

    folded, change = fold(issue, found(), ["baseline"], NOW)

    assert (change, folded.state, folded.suppressed_until) == (IssueChange.REOPENED, IssueState.OPEN, None)


# --- through the ledger ---------------------------------------------------------------------------------------------


async def test_findings_fold_by_target_detector_and_reason(replica: Replica, book: IssueBook, clock: SettableClock):
    """One issue per fingerprint over runs, with first and last date, count, worst outcome and latest message."""
    await replica.find(a_finding(Outcome.SUSPECT), SUSPECT)
    clock.advance(60)
    run_id = await replica.find(a_finding(message="Again."), scenario="baseline")
    other = dataclasses.replace(CHECK_TARGET, name="other")
    await replica.find(a_finding(), campaign=campaign_of(other))

    issues = {(issue.target, issue.reason): issue for issue in await book.listed()}

    assert len(issues) == 3
    leak = issues["staging", Reason.FOREIGN_CANARY]
    assert (leak.count, leak.outcome, leak.state) == (2, Outcome.VIOLATION, IssueState.OPEN)
    assert (leak.last_seen - leak.first_seen).total_seconds() == 60
    assert (leak.message, leak.last_run_id) == ("Again.", run_id)
    assert leak.scenarios == ("baseline", "seed_and_probe")


CHECK_TARGET: Target = a_report().run.campaign.target


def campaign_of(target: Target) -> object:
    return dataclasses.replace(a_report().run.campaign, target=target)


async def test_what_is_clean_or_undecided_makes_no_issue(replica: Replica, book: IssueBook, database: Database):
    """INCONCLUSIVE is watched by metrics; an issue is something that was seen."""
    await replica.find(
        a_finding(Outcome.CLEAN, Reason.SERVED), a_finding(Outcome.INCONCLUSIVE, Reason.BUSY, evidence_bits=0.0)
    )

    assert await book.listed() == ()
    assert await told(database) == []


async def test_findings_of_one_probe_make_one_change(replica: Replica, book: IssueBook, database: Database):
    """A suspicion and a violation of one kind in one answer open one issue, at its worst."""
    await replica.find(a_finding(Outcome.SUSPECT), a_finding(Outcome.VIOLATION), a_finding(Outcome.SUSPECT))

    (issue,) = await book.listed()
    assert (issue.count, issue.outcome) == (3, Outcome.VIOLATION)
    assert await told(database) == [("ops", "opened")]


async def test_only_transitions_are_told(replica: Replica, book: IssueBook, database: Database, clock: SettableClock):
    """Opened, worse, resolved, reopened, closed: one row each; more of the same says nothing."""
    for outcome in (Outcome.SUSPECT, Outcome.SUSPECT, Outcome.VIOLATION, Outcome.VIOLATION):
        await replica.find(a_finding(outcome))
    (issue,) = await book.listed()
    await book.resolve(issue.issue_id, "ann")
    await replica.find(a_finding())
    clock.advance(1)
    await replica.run_clean("seed_and_probe")

    assert [change for _, change in await told(database)] == ["opened", "worsened", "resolved", "reopened", "closed"]
    history = [entry.change.value for entry in await book.history(issue.issue_id)]
    assert history == ["opened", "worsened", "resolved", "reopened", "closed"]


async def test_a_notice_names_whose_text_came_out_and_nothing_else(
    replica: Replica, database: Database, clock: SettableClock
):
    """Tenant and run of our own decoded canaries, by number where this database never sent them; no message."""
    started = await replica.begin()
    await replica.ledger.remember(started.run, [(CHECK, a_prompt(canary=DONOR_CANARY))])
    sightings = (a_sighting(), a_sighting(STRANGER_CANARY, evidence_bits=20.0))
    await started.probe(a_leak(sightings=sightings, message="words of a detector"))

    async with database.read() as connection:
        (facts,) = (await connection.execute(sa.select(notices.c.facts))).scalars()
    notice = notice_of(facts)

    assert [(donor.tenant, donor.run_id) for donor in notice.donors] == [
        ("alpha", started.run.run_id),
        ("tenant 900", ""),
    ]
    assert (notice.issue.evidence_bits, notice.at) == (36.6, clock.now())
    assert "words of a detector" not in str(facts)


async def test_an_issue_and_its_notices_come_and_go_together(replica: Replica, book: IssueBook, database: Database):
    """What cannot be stored leaves neither finding, nor issue, nor notice behind."""
    started = await replica.begin()
    too_long = a_finding(detector="x" * 201 if database.kind == "postgresql" else None)
    with pytest.raises(Exception, match="database"):
        await started.probe(a_finding(), too_long)

    assert await book.listed() == ()
    assert await told(database) == []
    assert await replica.lookups.findings() == ()


async def test_a_finding_about_the_run_counts_once(replica: Replica, book: IssueBook):
    """Closing a run again, over an abandonment declared too early, does not count its findings a second time."""
    started = await replica.begin()
    about_run = a_finding(probe_label="")
    for findings in ((about_run,), (about_run, a_finding(probe_label="", reason=Reason.LATE_ECHO))):
        await started.close(a_report(findings=findings))

    issues = {issue.reason: issue for issue in await book.listed()}
    assert {reason: issue.count for reason, issue in issues.items()} == {Reason.FOREIGN_CANARY: 1, Reason.LATE_ECHO: 1}
    assert issues[Reason.LATE_ECHO].scenarios == started.run.campaign.scenarios


async def test_replicas_that_find_the_same_at_once_make_one_issue(database: Database, book: IssueBook):
    """Whatever the order in which two replicas record the same findings: each issue once, no finding uncounted."""
    one, other = Replica(database, SettableClock(), (OPS,)), Replica(database, SettableClock(), (OPS,))
    leak, echo = a_finding(), a_finding(reason=Reason.LATE_ECHO)
    for _ in range(5):
        runs = [await replica.begin() for replica in (one, other) for _ in range(4)]
        async with asyncio.TaskGroup() as group:
            for number, started in enumerate(runs):
                group.create_task(started.probe(*((leak, echo, SUSPECT) if number % 2 else (SUSPECT, echo, leak))))

    issues = await book.listed()
    assert [issue.count for issue in issues] == [40, 40, 40]
    assert sorted(await told(database)) == [("ops", "opened")] * 3


# --- closing by itself ----------------------------------------------------------------------------------------------


async def test_a_clean_run_of_all_its_scenarios_closes_an_issue(
    replica: Replica, book: IssueBook, clock: SettableClock
):
    """Only a later run in which every scenario that found it was clean throughout closes it."""
    await replica.find(a_finding(), scenario="seed_and_probe")
    await replica.find(a_finding(), scenario="limit_sweep")
    early = await replica.begin(started_at=clock.now() - dt.timedelta(seconds=1))
    both = ("seed_and_probe", "limit_sweep")
    clock.advance(1)

    await early.close(clean_report(early, both))
    await replica.run_clean("seed_and_probe")
    await replica.run_clean("limit_sweep", "baseline")
    (issue,) = await book.listed()
    assert issue.state is IssueState.OPEN

    run_id = await replica.run_clean(*both)
    (issue,) = await book.listed()
    assert issue.state is IssueState.RESOLVED
    last = (await book.history(issue.issue_id))[-1]
    assert (last.change, last.by, last.run_id) == (IssueChange.CLOSED, "", run_id)


async def test_an_inconclusive_run_closes_nothing(replica: Replica, book: IssueBook, clock: SettableClock):
    """A probe that could not be judged, a run cut short, no check at all: the issue stays."""
    await replica.find(a_finding())
    clock.advance(1)
    busy = a_finding(Outcome.INCONCLUSIVE, Reason.BUSY, probe_label="seed_and_probe/0001")
    cut = a_finding(Outcome.INCONCLUSIVE, Reason.BUDGET_EXHAUSTED, probe_label="")
    for changes in ({"findings": (busy,)}, {"findings": (cut,)}, {"probes": ()}):
        started = await replica.begin()
        await started.close(clean_report(started, ("seed_and_probe",), **changes))

    (issue,) = await book.listed()
    assert issue.state is IssueState.OPEN


async def test_a_suppressed_issue_is_left_to_its_date(replica: Replica, book: IssueBook, clock: SettableClock):
    """Clean runs close what is open, acknowledged, or suppressed no longer."""
    await replica.find(a_finding())
    (issue,) = await book.listed()
    await book.suppress(issue.issue_id, "ann", clock.now() + dt.timedelta(hours=1))
    clock.advance(1)
    await replica.run_clean("seed_and_probe")
    assert (await book.find(issue.issue_id)).state is IssueState.SUPPRESSED

    clock.advance(3_600)
    assert (await book.find(issue.issue_id)).state is IssueState.OPEN
    await replica.run_clean("seed_and_probe")
    assert (await book.find(issue.issue_id)).state is IssueState.RESOLVED


def test_planned_hang_ups_do_not_keep_a_scenario_from_being_sound():
    """As in the verdict, they weigh nothing; what is only seeded is no check."""
    abandoned = a_finding(Outcome.INCONCLUSIVE, Reason.ABANDONED, probe_label="a/1")
    probes = (
        a_probe_summary(label="a/1", scenario="a", outcome=Outcome.INCONCLUSIVE),
        a_probe_summary(label="a/2", scenario="a", outcome=Outcome.CLEAN),
        a_probe_summary(label="b/1", scenario="b", outcome=Outcome.CLEAN, role="donor"),
    )

    assert sound_scenarios(a_report(findings=(abandoned,), probes=probes)) == {"a"}


# --- verdicts -------------------------------------------------------------------------------------------------------


async def test_the_verdict_of_a_rollout_is_told_once(replica: Replica, database: Database):
    """Of rollouts only, whatever it is, and once however often the run is closed."""
    manual, rollout = await replica.begin(), await replica.begin(trigger=Trigger.ROLLOUT)
    for started in (manual, rollout, rollout):
        await started.close(clean_report(started, ("baseline",)))

    assert await told(database) == [("ops", "verdict")]


async def test_an_abandoned_rollout_is_told_as_inconclusive(replica: Replica, database: Database, clock: SettableClock):
    """Who waits for a gate hears that its prober died."""
    await replica.begin(trigger=Trigger.ROLLOUT)
    clock.advance(10)
    await replica.ledger.close_abandoned(dt.timedelta(seconds=10))

    async with database.read() as connection:
        (facts,) = (await connection.execute(sa.select(notices.c.facts))).scalars()
    assert (facts["outcome"], facts["reasons"]) == ("inconclusive", ["interrupted"])
