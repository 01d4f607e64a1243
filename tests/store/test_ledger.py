"""Contract of every ledger: SQLite, PostgreSQL, and the fake that other tests use."""

import dataclasses
import datetime as dt

import pytest
import sqlalchemy as sa

from prober.domain.campaign import Run
from prober.domain.canary import Canary
from prober.domain.errors import LedgerError
from prober.domain.evidence import Judgement
from prober.domain.finding import Finding, Reason
from prober.domain.observation import FailureKind, Observation, Refusal, RefusalReason, Timeline, Usage
from prober.domain.outcome import Outcome
from prober.domain.prompt import NeedlePosition
from prober.domain.reading import FragmentTally, Reading, Recall, Tier
from prober.domain.verdict import Spending
from prober.store.database import Database
from prober.store.ledger import SqlLedger
from prober.store.lookups import LedgerLookups
from prober.store.rows import MAX_COUNT, clip
from prober.store.schema import observations
from tests.support.evidence import a_probe, a_prompt, an_evidence
from tests.support.ledger import MemoryLedger, SettableClock
from tests.support.reports import DONOR_CANARY, STARTED, STRANGER_CANARY, a_leak, a_report, a_run, a_sighting

ESTIMATE = Spending(requests=9, prompt_tokens=3_000_000_000, output_tokens=64)
CHECK = a_probe(label="seed_and_probe/0003")
CANARY = Canary.of(2047, 31, 2**28 - 1)
PROMPT = a_prompt(canary=CANARY)
TEXT = "zebra quota falcon: a stranger's words"


class Ledgers:
    """A ledger and its look-ups, whatever they are made of."""

    def __init__(self, ledger: SqlLedger | MemoryLedger, lookups: LedgerLookups | MemoryLedger) -> None:
        self.ledger = ledger
        self.lookups = lookups


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def ledgers(request: pytest.FixtureRequest, clock: SettableClock) -> Ledgers:
    if request.param == "memory":
        memory = MemoryLedger(clock)
        return Ledgers(memory, memory)
    kind = "postgres" if request.param == "postgresql" else request.param
    database = request.getfixturevalue(f"{kind}_database")
    return Ledgers(SqlLedger(database, clock), LedgerLookups(database, clock))


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Database:
    return request.getfixturevalue(f"{request.param}_database")


def judged(*findings: Finding, **changes: object) -> Judgement:
    evidence = an_evidence(**{"probe": CHECK, "prompt": PROMPT, **changes})
    return Judgement(evidence=evidence, findings=findings or (a_leak(),))


async def opened(ledger: SqlLedger | MemoryLedger, **changes: object) -> Run:
    run = a_run(**changes)
    await ledger.open_run(run, ESTIMATE)
    return run


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


async def test_nothing_to_remember_is_no_fault(ledgers: Ledgers):
    """An empty wave leaves no trace."""
    run = await opened(ledgers.ledger)
    await ledgers.ledger.remember(run, [])


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


def finding_of(outcome: Outcome, reason: Reason = Reason.SERVED, label: str = "") -> Finding:
    return Finding(detector="d", outcome=outcome, reason=reason, message="m", probe_label=label)


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


async def test_runs_are_listed_newest_first(ledgers: Ledgers):
    """By target, and no more than asked for."""
    for number in range(3):
        await opened(ledgers.ledger, run_id=f"r{number}", started_at=STARTED + dt.timedelta(hours=number))
    assert [run.run_id for run in await ledgers.lookups.runs(limit=2)] == ["r2", "r1"]
    assert len(await ledgers.lookups.runs(target="staging")) == 3
    assert await ledgers.lookups.runs(target="other") == ()


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
    """What was found before the process died stands."""
    run = await opened(ledgers.ledger)
    await ledgers.ledger.remember(run, [(CHECK, PROMPT)])
    await ledgers.ledger.record(run, judged())
    clock.advance(10)
    await ledgers.ledger.close_abandoned(dt.timedelta(seconds=10))
    (stored,) = await ledgers.lookups.runs()
    assert stored.outcome is Outcome.VIOLATION


async def test_a_verdict_overrides_an_abandonment_declared_too_early(ledgers: Ledgers, clock: SettableClock):
    """A run that was alive after all has its own verdict, and no note of abandonment."""
    run = await opened(ledgers.ledger)
    clock.advance(10)
    await ledgers.ledger.close_abandoned(dt.timedelta(seconds=10))
    await ledgers.ledger.close_run(a_report(run=run, findings=()))
    (stored,) = await ledgers.lookups.runs()
    assert stored.reasons == a_report().verdict.reasons
    assert await ledgers.lookups.findings() == ()


async def test_what_came_back_is_stored_by_hash_and_counts(database: Database, clock: SettableClock):
    """Every figure of an observation is there, and no column holds a word of the answer."""
    ledger = SqlLedger(database, clock)
    run = await opened(ledger)
    await ledger.remember(run, [(CHECK, PROMPT)])
    observation = Observation(
        sent_at=STARTED,
        status=200,
        text=TEXT,
        reasoning=TEXT,
        finish_reason="stop\0",
        refusal=Refusal(reason=RefusalReason.LENGTH, code="c" * 999, stated_limits=(5, 10**30), stated_tokens=7),
        failure=FailureKind.CLOSED_EARLY,
        usage=Usage(prompt_tokens=681_274, completion_tokens=10**40, cached_tokens=-(10**40)),
        timeline=Timeline(first_token=0.25, body_acked=0.1),
        model_reported="glm\ud800",
        evidence_headers={f"x-{number:03d}": "v" for number in range(99)},
        is_stream=True,
    )
    reading = Reading(
        characters=len(TEXT),
        words=6,
        sha256="ab" * 32,
        own=(a_sighting(CANARY, windows=3),),
        foreign=(a_sighting(windows=2), a_sighting(STRANGER_CANARY, windows=4)),
        fragments=(
            FragmentTally(
                tenant_number=2, canary=DONOR_CANARY, groups=1, pairs=2, exclusive_words=3, evidence_bits=12.5
            ),
            FragmentTally(tenant_number=3, canary=None, groups=0, pairs=0, exclusive_words=1, evidence_bits=0.5),
        ),
        recall=Recall(asked=(NeedlePosition.END,), found=()),
    )
    await ledger.record(run, judged(a_leak(), observation=observation, reading=reading))
    async with database.begin() as connection:
        row = (await connection.execute(sa.select(observations))).one()._mapping
    assert row["status"] == 200
    assert row["prompt_tokens"] == 681_274
    assert (row["completion_tokens"], row["cached_tokens"], row["reasoning_tokens"]) == (MAX_COUNT, -MAX_COUNT, None)
    assert (row["finish_reason"], row["model_reported"]) == ("stop", "glm")
    assert row["refusal"] is RefusalReason.LENGTH
    assert len(row["refusal_code"]) == 200
    assert row["stated_limits"] == [5, MAX_COUNT]
    assert row["failure"] is FailureKind.CLOSED_EARLY
    assert row["timeline"]["first_token"] == 0.25
    assert row["timeline"]["headers"] is None
    assert len(row["evidence_headers"]) == 40
    assert (row["own_windows"], row["foreign_windows"]) == (3, 6)
    assert row["needles_asked"] == ["end"]
    assert [tally["probe_number"] for tally in row["fragments"]] == [DONOR_CANARY.probe_number, None]
    assert (row["answer_sha256"], row["answer_characters"]) == ("ab" * 32, len(TEXT))
    assert row["sent_at"] == STARTED
    assert not any("zebra" in str(value) for value in row.values())


@pytest.mark.parametrize(("given", "stored"), [("plain", "plain"), ("a\0b\udc80c", "abc"), ("x" * 300, "x" * 200)])
def test_foreign_strings_are_made_storable(given: str, stored: str):
    """NUL and lone surrogates go, the rest is bounded."""
    assert clip(given) == stored
