"""Contract of every ledger: SQLite, PostgreSQL, and the fake that other tests use."""

import dataclasses
import datetime as dt

import pytest

from prober.detect.marking import mark_of
from prober.domain.errors import LedgerError
from prober.domain.finding import Reason
from prober.domain.options import Arm, Trial
from prober.domain.outcome import Outcome
from tests.support.evidence import a_prompt
from tests.support.ledger import SettableClock
from tests.support.reports import DONOR_CANARY, a_leak, a_report, a_run
from tests.support.stored import CHECK, PROMPT, Ledgers, finding_of, judged, opened


async def test_a_run_is_open_until_its_verdict_is_stored(ledgers: Ledgers):
    """An open run has no outcome; a closed one has its verdict, reasons and spending."""
    run = await opened(ledgers.ledger)
    (stored,) = await ledgers.lookups.runs()
    assert (stored.run_id, stored.target, stored.started_at) == (run.run_id, run.campaign.target.name, run.started_at)
    assert (stored.ended_at, stored.outcome, stored.reasons, stored.spent) == (None, None, (), None)
    report = a_report(run=run)
    await ledgers.ledger.close_run(report)
    (stored,) = await ledgers.lookups.runs()
    assert (stored.ended_at, stored.outcome) == (report.ended_at, Outcome.VIOLATION)
    assert stored.reasons == report.verdict.reasons
    assert stored.probes == report.verdict.probes
    assert stored.spent == report.spent


async def test_a_run_is_opened_once(ledgers: Ledgers):
    """A second run of the same id is refused."""
    await opened(ledgers.ledger)
    with pytest.raises(LedgerError):
        await opened(ledgers.ledger)


async def test_nothing_to_remember_is_no_fault(ledgers: Ledgers):
    """An empty wave leaves no trace."""
    run = await opened(ledgers.ledger)
    await ledgers.ledger.remember(run, [])


async def test_the_same_label_may_return_with_other_text(ledgers: Ledgers):
    """A second calibration of a run repeats its labels, never its canaries."""
    run = await opened(ledgers.ledger)
    await ledgers.ledger.remember(run, [(CHECK, PROMPT)])
    await ledgers.ledger.remember(run, [(CHECK, a_prompt(canary=DONOR_CANARY))])
    with pytest.raises(LedgerError):
        await ledgers.ledger.remember(run, [(CHECK, PROMPT)])


async def test_a_wave_is_remembered_whole_or_not_at_all(ledgers: Ledgers):
    """A wave that cannot be stored leaves none of its canaries behind."""
    run = await opened(ledgers.ledger)
    with pytest.raises(LedgerError):
        await ledgers.ledger.remember(run, [(CHECK, a_prompt(canary=DONOR_CANARY)), (CHECK, PROMPT), (CHECK, PROMPT)])
    assert await ledgers.lookups.whose(DONOR_CANARY) is None


async def test_a_run_never_opened_takes_nothing(ledgers: Ledgers):
    """Canaries, judgements and verdicts of an unknown run are refused."""
    run = a_run(run_id="unknown")
    with pytest.raises(LedgerError):
        await ledgers.ledger.remember(run, [(CHECK, PROMPT)])
    with pytest.raises(LedgerError):
        await ledgers.ledger.record(run, judged())
    with pytest.raises(LedgerError):
        await ledgers.ledger.close_run(a_report(run=run))


async def test_a_judgement_needs_its_canary_remembered_first(ledgers: Ledgers):
    """What was never remembered, or is recorded already, is refused."""
    run = await opened(ledgers.ledger)
    with pytest.raises(LedgerError):
        await ledgers.ledger.record(run, judged())
    await ledgers.ledger.remember(run, [(CHECK, PROMPT)])
    await ledgers.ledger.record(run, judged())
    with pytest.raises(LedgerError):
        await ledgers.ledger.record(run, judged())
    assert len(await ledgers.lookups.findings()) == 1


async def test_findings_about_the_run_are_stored_with_its_verdict_once(ledgers: Ledgers):
    """Those of probes are there already; closing twice does not double those of the run."""
    run = await opened(ledgers.ledger)
    await ledgers.ledger.remember(run, [(CHECK, PROMPT)])
    await ledgers.ledger.record(run, judged())
    report = a_report(run=run, findings=(a_leak(), finding_of(Outcome.INCONCLUSIVE, Reason.BUDGET_EXHAUSTED)))
    await ledgers.ledger.close_run(report)
    await ledgers.ledger.close_run(report)
    labels = [stored.finding.probe_label for stored in await ledgers.lookups.findings()]
    assert sorted(labels) == ["", CHECK.label]


async def test_an_abandoned_run_is_closed_as_inconclusive(ledgers: Ledgers, clock: SettableClock):
    """A run whose process died reads INCONCLUSIVE, INTERRUPTED; a live one and a closed one are left alone."""
    hour = dt.timedelta(hours=1)
    dead, alive, closed = [await opened(ledgers.ledger, run_id=name) for name in ("dead", "alive", "closed")]
    await ledgers.ledger.close_run(a_report(run=closed, findings=()))
    clock.advance(3_599)
    await ledgers.ledger.remember(alive, [(CHECK, PROMPT)])
    assert await ledgers.ledger.close_abandoned(hour) == ()
    clock.advance(1)
    assert await ledgers.ledger.close_abandoned(hour) == ("dead",)
    assert await ledgers.ledger.close_abandoned(hour) == ()
    runs = {run.run_id: run for run in await ledgers.lookups.runs()}
    assert (runs["dead"].outcome, runs["dead"].reasons) == (Outcome.INCONCLUSIVE, (Reason.INTERRUPTED,))
    assert runs["dead"].ended_at == clock.now()
    assert (runs["alive"].outcome, runs["closed"].outcome) == (None, Outcome.VIOLATION)
    (note,) = await ledgers.lookups.findings(run_id=dead.run_id)
    assert note.finding.reason is Reason.INTERRUPTED


async def test_an_abandoned_run_keeps_its_violation(ledgers: Ledgers, clock: SettableClock):
    """What was found before the process died stands, with its own reasons before that of the abandonment."""
    run = await opened(ledgers.ledger)
    await ledgers.ledger.remember(run, [(CHECK, PROMPT)])
    await ledgers.ledger.record(run, judged())
    clock.advance(10)
    await ledgers.ledger.close_abandoned(dt.timedelta(seconds=10))
    (stored,) = await ledgers.lookups.runs()
    assert stored.outcome is Outcome.VIOLATION
    violations = {f.reason for f in judged().findings if f.outcome is Outcome.VIOLATION}
    assert (set(stored.reasons[:-1]), stored.reasons[-1]) == (violations, Reason.INTERRUPTED)


async def test_a_verdict_overrides_an_abandonment_declared_too_early(ledgers: Ledgers, clock: SettableClock):
    """A run that was alive after all has its own verdict, and no note of abandonment."""
    run = await opened(ledgers.ledger)
    clock.advance(10)
    await ledgers.ledger.close_abandoned(dt.timedelta(seconds=10))
    await ledgers.ledger.close_run(a_report(run=run, findings=()))
    (stored,) = await ledgers.lookups.runs()
    assert stored.reasons == a_report().verdict.reasons
    assert await ledgers.lookups.findings() == ()


REFERENCE = dataclasses.replace(CHECK, trial=Trial(series="rollout", number=1, arm=Arm.REFERENCE))


async def test_reference_answers_outlive_their_run(ledgers: Ledgers, clock: SettableClock):
    """The next run of the target gets those of the latest run that kept any; other targets and the run itself none."""
    first = await opened(ledgers.ledger)
    kept = judged(probe=REFERENCE)
    await ledgers.ledger.remember(first, [(REFERENCE, PROMPT)])
    await ledgers.ledger.record(first, kept)
    assert await ledgers.ledger.reference(first) == ()

    clock.advance(60)
    second = await opened(ledgers.ledger, run_id="second", started_at=clock.now())
    await ledgers.ledger.remember(second, [(CHECK, PROMPT)])
    await ledgers.ledger.record(second, judged())
    clock.advance(60)
    third = await opened(ledgers.ledger, run_id="third", started_at=clock.now())

    assert await ledgers.ledger.reference(third) == (mark_of(kept),)
    other = dataclasses.replace(third.campaign.target, name="other")
    elsewhere = dataclasses.replace(third, campaign=dataclasses.replace(third.campaign, target=other))
    assert await ledgers.ledger.reference(elsewhere) == ()
