"""Contract of what people ask a ledger, likewise for all three."""

import dataclasses
import datetime as dt

from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
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


async def test_runs_are_listed_newest_first(ledgers: Ledgers):
    """By target, and no more than asked for."""
    for number in range(3):
        await opened(ledgers.ledger, run_id=f"r{number}", started_at=STARTED + dt.timedelta(hours=number))
    assert [run.run_id for run in await ledgers.lookups.runs(limit=2)] == ["r2", "r1"]
    assert len(await ledgers.lookups.runs(target="staging")) == 3
    assert await ledgers.lookups.runs(target="other") == ()
