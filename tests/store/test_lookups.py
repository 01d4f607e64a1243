"""Contract of what people ask a ledger, likewise for all three."""

import dataclasses
import datetime as dt

from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Role
from prober.domain.reading import Tier
from tests.support.evidence import a_probe, a_prompt
from tests.support.ledger import SettableClock
from tests.support.reports import DONOR_CANARY, STARTED, STRANGER_CANARY, a_leak, a_report, a_sighting
from tests.support.stored import CANARY, CHECK, PROMPT, Ledgers, finding_of, judged, opened


async def test_a_canary_is_known_before_anything_came_back(ledgers: Ledgers, clock: SettableClock):
    """Once remembered, a canary's numbers lead to its run, its probe and its age, over the whole range of numbers."""
    run = await opened(ledgers.ledger)
    await ledgers.ledger.remember(run, [(CHECK, PROMPT)])
    clock.advance(3_600)
    owner = await ledgers.lookups.whose(CANARY)
    assert (owner.run_id, owner.label, owner.tenant) == (run.run_id, CHECK.label, "alpha")
    assert owner.planned_tokens == PROMPT.planned_tokens
    assert owner.age(clock.now()) == dt.timedelta(hours=1)
    assert await ledgers.lookups.whose(STRANGER_CANARY) is None


async def test_a_rewrite_leads_to_the_text_first_sent(ledgers: Ledgers, clock: SettableClock):
    """Rewrites bear the canary of their first text; a hit on it names the first probe."""
    run = await opened(ledgers.ledger)
    await ledgers.ledger.remember(run, [(CHECK, PROMPT)])
    clock.advance(1)
    again = dataclasses.replace(
        CHECK, label="seed_and_probe/0004", prompt=dataclasses.replace(CHECK.prompt, rewrite_of=CANARY, pad_adjust=-3)
    )
    await ledgers.ledger.remember(run, [(again, PROMPT)])
    assert (await ledgers.lookups.whose(CANARY)).label == CHECK.label


async def test_a_finding_comes_back_whole(ledgers: Ledgers, clock: SettableClock):
    """A finding is shown with its sightings and with the probes that sent them, as far as they are known."""
    run = await opened(ledgers.ledger)
    donor = a_probe(label="seed_and_probe/0001")
    await ledgers.ledger.remember(run, [(donor, a_prompt(canary=DONOR_CANARY)), (CHECK, PROMPT)])
    sightings = (
        a_sighting(),
        a_sighting(STRANGER_CANARY, tier=Tier.LIVE, is_live=False, first_block=None, last_block=None),
    )
    leak = a_leak(sightings=sightings)
    clock.advance(5)
    await ledgers.ledger.record(run, judged(leak))
    (listed,) = await ledgers.lookups.findings()
    assert listed.finding == dataclasses.replace(leak, sightings=())
    shown = await ledgers.lookups.finding(listed.finding_id)
    assert shown.finding == leak
    assert (shown.run_id, shown.target, shown.found_at) == (run.run_id, "staging", clock.now())
    assert [(owner.label, owner.age(clock.now())) for owner in shown.donors] == [
        ("seed_and_probe/0001", dt.timedelta(seconds=5))
    ]
    assert await ledgers.lookups.finding(listed.finding_id + 1) is None


async def test_findings_are_filtered_and_newest_first(ledgers: Ledgers, clock: SettableClock):
    """By outcome, by run, by acknowledgement, and no more than asked for."""
    run, other = await opened(ledgers.ledger), await opened(ledgers.ledger, run_id="run-2")
    await ledgers.ledger.remember(run, [(CHECK, PROMPT)])
    await ledgers.ledger.record(run, judged(*map(finding_of, Outcome)))
    clock.advance(1)
    await ledgers.ledger.close_run(
        a_report(run=other, ended_at=clock.now(), findings=(finding_of(Outcome.INCONCLUSIVE, Reason.INTERRUPTED),))
    )
    lookups = ledgers.lookups
    listed = await lookups.findings()
    assert [stored.finding.outcome for stored in listed] == [
        Outcome.INCONCLUSIVE,
        Outcome.VIOLATION,
        Outcome.SUSPECT,
        Outcome.INCONCLUSIVE,
    ]
    assert [s.finding.outcome for s in await lookups.findings(worse_than=Outcome.SUSPECT)] == [Outcome.VIOLATION]
    assert [s.run_id for s in await lookups.findings(run_id="run-2")] == ["run-2"]
    assert len(await lookups.findings(limit=2)) == 2
    assert await lookups.acknowledge(listed[1].finding_id, "sre")
    assert [s.finding_id for s in await lookups.findings(is_acknowledged=True)] == [listed[1].finding_id]
    assert len(await lookups.findings(is_acknowledged=False)) == 3


async def test_the_first_acknowledgement_stays(ledgers: Ledgers, clock: SettableClock):
    """Who saw a finding first, and when, is kept; an unknown finding cannot be acknowledged."""
    run = await opened(ledgers.ledger)
    await ledgers.ledger.remember(run, [(CHECK, PROMPT)])
    await ledgers.ledger.record(run, judged())
    (listed,) = await ledgers.lookups.findings()
    assert await ledgers.lookups.acknowledge(listed.finding_id, "first")
    seen_at = clock.now()
    clock.advance(60)
    assert await ledgers.lookups.acknowledge(listed.finding_id, "second")
    (stored,) = await ledgers.lookups.findings()
    assert (stored.acknowledged_by, stored.acknowledged_at) == ("first", seen_at)
    assert not await ledgers.lookups.acknowledge(10**9, "nobody")


async def test_runs_are_listed_page_by_page(ledgers: Ledgers):
    """Each once, those of one moment too; after a run that is not known there is none."""
    for name, hour in (("a", 0), ("c", 1), ("b", 1), ("d", 2)):
        await opened(ledgers.ledger, run_id=name, started_at=STARTED + dt.timedelta(hours=hour))
    pages: list[str] = []
    while found := await ledgers.lookups.runs(target="staging", limit=1, before=pages[-1] if pages else None):
        pages += [run.run_id for run in found]

    assert pages == ["d", "b", "c", "a"]
    assert await ledgers.lookups.runs(before="unknown") == ()


async def test_runs_are_listed_newest_first(ledgers: Ledgers):
    """By target, and no more than asked for."""
    for number in range(3):
        await opened(ledgers.ledger, run_id=f"r{number}", started_at=STARTED + dt.timedelta(hours=number))
    assert [run.run_id for run in await ledgers.lookups.runs(limit=2)] == ["r2", "r1"]
    assert len(await ledgers.lookups.runs(target="staging")) == 3
    assert await ledgers.lookups.runs(target="other") == ()


async def test_judged_checks_are_tallied_by_scenario_build_and_outcome(ledgers: Ledgers, clock: SettableClock):
    """Only probes that a scenario exists for count; another target's do not."""
    run = await opened(ledgers.ledger)
    donor = a_probe(label="seed_and_probe/0001", role=Role.DONOR)
    again = a_probe(label="seed_and_probe/0004", role=Role.CONFIRMATION)
    await ledgers.ledger.remember(
        run, [(CHECK, PROMPT), (donor, a_prompt(canary=DONOR_CANARY)), (again, a_prompt(canary=STRANGER_CANARY))]
    )
    await ledgers.ledger.record(run, judged())
    await ledgers.ledger.record(run, judged(probe=again, prompt=a_prompt(canary=STRANGER_CANARY)))
    await ledgers.ledger.record(run, judged(probe=donor, prompt=a_prompt(canary=DONOR_CANARY)))

    (tally,) = await ledgers.lookups.tallies(run.campaign.target.name)
    assert (tally.scenario, tally.build, tally.outcome, tally.probes) == (
        CHECK.scenario,
        run.campaign.target.build,
        Outcome.VIOLATION,
        2,
    )
    assert tally.last_at == judged().evidence.observation.sent_at
    assert await ledgers.lookups.tallies("other") == ()


async def test_suspected_kinds_come_back_in_their_order(ledgers: Ledgers):
    """The likeliest stays first."""
    run = await opened(ledgers.ledger)
    await ledgers.ledger.remember(run, [(CHECK, PROMPT)])
    kinds = (FaultKind.STALE_STATE, FaultKind.LIVE_WRITER)
    await ledgers.ledger.record(run, judged(a_leak(kinds=kinds)))

    (stored,) = await ledgers.lookups.findings()
    assert stored.finding.kinds == kinds


async def test_findings_are_read_page_by_page(ledgers: Ledgers):
    """The id of the last one seen leads on: every finding once, newest first, whatever is stored meanwhile."""
    run = await opened(ledgers.ledger)
    await ledgers.ledger.remember(run, [(CHECK, PROMPT)])
    await ledgers.ledger.record(run, judged(*[a_leak(message=f"m{number}") for number in range(5)]))
    seen: list[str] = []
    before = None
    while page := await ledgers.lookups.findings(limit=2, before=before):
        seen += [stored.finding.message for stored in page]
        before = page[-1].finding_id
        await ledgers.ledger.close_run(a_report(findings=(finding_of(Outcome.SUSPECT),)))
    assert seen == ["m4", "m3", "m2", "m1", "m0"]


async def test_findings_are_told_apart_by_target_and_reason(ledgers: Ledgers):
    """Each filter leaves what is its own; together they leave what is both."""
    run = await opened(ledgers.ledger)
    await ledgers.ledger.remember(run, [(CHECK, PROMPT)])
    await ledgers.ledger.record(run, judged(a_leak(), a_leak(reason=Reason.LATE_ECHO)))
    assert len(await ledgers.lookups.findings(target="staging")) == 2
    assert len(await ledgers.lookups.findings(target="production")) == 0
    (echo,) = await ledgers.lookups.findings(reason=Reason.LATE_ECHO)
    assert echo.finding.reason is Reason.LATE_ECHO
    assert await ledgers.lookups.findings(reason=Reason.LATE_ECHO, target="production") == ()


async def test_one_run_is_shown_with_its_figures(ledgers: Ledgers):
    """Open: what was asked; closed: what came of it, the bound included; of no run nothing."""
    run = await opened(ledgers.ledger)
    begun = await ledgers.lookups.run(run.run_id)
    assert begun is not None
    assert (begun.trigger, begun.scenarios, begun.conclusive) == (run.trigger, run.campaign.scenarios, None)
    report = a_report(verdict=dataclasses.replace(a_report().verdict, leak_rate_upper95=0.35))
    await ledgers.ledger.close_run(report)
    ended = await ledgers.lookups.run(run.run_id)
    assert ended is not None
    assert (ended.conclusive, ended.clean, ended.leak_rate_upper95) == (8, 7, 0.35)
    assert (ended,) == await ledgers.lookups.runs()
    assert await ledgers.lookups.run("nobody's") is None
