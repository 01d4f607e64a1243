"""A report read back from the ledger says what the run's own did."""

import dataclasses
import datetime as dt

import sqlalchemy as sa

from prober.domain.campaign import ScenarioSettings
from prober.domain.observation import Observation
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from prober.domain.verdict import RunReport
from prober.runner.run import execute
from prober.store.database import Database
from prober.store.ledger import SqlLedger
from prober.store.reports import StoredReports
from prober.store.schema.runs import observations, runs
from tests.support.fake_llm import FakeLlm
from tests.support.ledger import SettableClock
from tests.support.ports import World, small_run
from tests.support.reports import a_leak, a_run
from tests.support.stored import CHECK, ESTIMATE, PROMPT, judged


async def played(database: Database, clock: SettableClock, **changes: object) -> RunReport:
    """Run two scenarios against an LLM that leaks, into this database."""
    llm = FakeLlm(leaks=True)

    def respond(probe: Probe, prompt: Prompt) -> Observation:
        clock.advance(2)
        return dataclasses.replace(
            llm.observe(probe, prompt),
            sent_at=clock.now(),
            request_id=f"id-{probe.label}",
            system_fingerprint="fp_1",
            response_id="chatcmpl-1",
            evidence_headers={"cf-ray": "8f2", "server": "sglang"},
        )

    world = World(respond)
    run = dataclasses.replace(small_run("baseline", "seed_and_probe"), **changes)
    ports = dataclasses.replace(world.ports, ledger=SqlLedger(database, clock), clock=clock)
    return await execute(run, world.instruments, ports)


def stored_form(report: RunReport) -> RunReport:
    """What a ledger keeps of a report: all but how much each scenario was told to send."""
    campaign = dataclasses.replace(report.run.campaign, settings=ScenarioSettings())
    return dataclasses.replace(report, run=dataclasses.replace(report.run, campaign=campaign))


async def test_it_equals_the_report_of_the_run(database: Database, clock: SettableClock):
    """Verdict, findings with sightings, probes with traces, limits, spending, terms and rollout: none differs."""
    fresh = await played(database, clock, facts={"service": "chat", "image": "registry/chat@sha256:1f"})

    stored = await StoredReports(database).report(fresh.run.run_id)

    assert fresh.verdict.outcome is Outcome.VIOLATION
    assert any(finding.sightings for finding in fresh.findings)
    assert stored == stored_form(fresh)


async def test_only_a_run_that_has_ended_has_a_report(database: Database, clock: SettableClock):
    """Of an unknown run there is none, and none of one under way; it has one once it is closed."""
    ledger, reports = SqlLedger(database, clock), StoredReports(database)
    run = a_run()
    assert await reports.report(run.run_id) is None
    assert await reports.latest() is None
    await ledger.open_run(run, ESTIMATE)
    assert await reports.report(run.run_id) is None
    assert await reports.latest() is None


async def test_a_run_that_was_given_up_is_counted_from_what_it_judged(database: Database, clock: SettableClock):
    """A killed run has a report: what it found stands, counts are of judged probes, and no bound is claimed."""
    ledger = SqlLedger(database, clock)
    run = a_run()
    await ledger.open_run(run, ESTIMATE)
    await ledger.remember(run, [(CHECK, PROMPT)])
    await ledger.record(run, judged(a_leak()))
    clock.advance(7_200)
    await ledger.close_abandoned(dt.timedelta(hours=1))

    report = await StoredReports(database).report(run.run_id)

    assert report.verdict.outcome is Outcome.VIOLATION
    assert (report.verdict.probes, report.verdict.conclusive, report.verdict.clean) == (1, 1, 0)
    assert report.verdict.leak_rate_upper95 is None
    assert [finding.outcome for finding in report.findings] == [Outcome.VIOLATION, Outcome.INCONCLUSIVE]
    assert report.spent.tokens == 0


async def test_what_was_pruned_is_missing_and_still_counted(database: Database, clock: SettableClock):
    """The verdict is that of the run, also when its observations have gone."""
    fresh = await played(database, clock)
    async with database.begin() as connection:
        await connection.execute(sa.delete(observations))

    stored = await StoredReports(database).report(fresh.run.run_id)

    assert stored.probes == ()
    assert stored.verdict == fresh.verdict


async def test_a_run_of_an_earlier_version_claims_no_terms(database: Database, clock: SettableClock):
    """Where neither terms nor facts were written, none are made up."""
    fresh = await played(database, clock)
    async with database.begin() as connection:
        await connection.execute(sa.update(runs).values(terms=None, facts=None))

    stored = await StoredReports(database).report(fresh.run.run_id)

    assert (stored.run.campaign.target.context_tokens, stored.run.facts) == (0, {})
    assert stored.verdict == fresh.verdict


async def test_the_latest_is_the_one_that_ended_last(database: Database, clock: SettableClock):
    """Of a target, or of all."""
    await played(database, clock)
    clock.advance(60)
    later = await played(database, clock, run_id="run-2")
    reports = StoredReports(database)

    assert await reports.latest() == await reports.latest("small") == later.run.run_id
    assert await reports.latest("elsewhere") is None
