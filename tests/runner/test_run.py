"""The main path, driven through its ports."""

import asyncio
import dataclasses
import pickle
from collections.abc import Generator

import pytest

from prober.domain.errors import LedgerError
from prober.domain.evidence import Answer, WaveEvidence
from prober.domain.finding import Reason
from prober.domain.observation import FailureKind, Observation, Refusal, RefusalReason, Usage
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation, Probe, PromptSpec, Role, Wave
from prober.domain.prompt import Prompt
from prober.domain.verdict import RunReport, Spending
from prober.plan.scenarios import SCENARIOS
from prober.plan.stage import Stage
from prober.runner.run import MAX_RECALIBRATIONS, execute
from tests.support.evidence import NOON
from tests.support.fake_llm import FakeLlm
from tests.support.ports import World, small_run

CALIBRATION_PROBES = 8


async def run_in(world: World, *scenarios: str, **changes: object) -> RunReport:
    return await execute(small_run(*scenarios, **changes), world.instruments, world.ports)


class RecordedScenario:
    """Registers itself under a name; remembers whether its generator was closed."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, waves: int = 1, role: Role = Role.CHECK, size: int = 500
    ) -> None:
        self.waves = waves
        self.role = role
        self.size = size
        self.evidence: list[WaveEvidence] = []
        self.stages: list[Stage] = []
        self.is_closed = False
        monkeypatch.setitem(SCENARIOS, "recorded", self.play)
        # Rehearsing would play it as well.
        monkeypatch.setattr("prober.runner.run.estimate", lambda _campaign: Spending(requests=1))

    def play(self, stage: Stage) -> Generator[Wave, WaveEvidence, None]:
        self.stages.append(stage)
        try:
            for number in range(1, self.waves + 1):
                self.evidence.append((yield Wave(probes=(self.probe(stage, number),), purpose="see")))
        finally:
            self.is_closed = True

    def probe(self, stage: Stage, number: int) -> Probe:
        return Probe(
            label=f"recorded/{number:04d}",
            scenario="recorded",
            tenant=stage.tenants[number % 2],
            role=self.role,
            prompt=PromptSpec(tokens=self.size),
            expectation=Expectation.SERVE,
        )


def refusing(reason: RefusalReason, status: int) -> Observation:
    return Observation(sent_at=NOON, status=status, refusal=Refusal(reason=reason))


async def test_a_healthy_target_is_clean_and_everything_stands_in_the_ledger():
    """An honest target is CLEAN over all probes, and every one of them is remembered and recorded."""
    world = World()

    report = await run_in(world, "baseline", "seed_and_probe")

    assert report.verdict.outcome is Outcome.CLEAN
    assert world.labels("remember") == world.labels("send") == world.labels("record") == world.labels("probe_judged")
    assert [probe.label for probe in report.probes] == world.labels("record")
    assert len(set(world.labels("send"))) == len(world.labels("send"))
    assert world.ledger.reports == world.telemetry.reports == [report]
    assert world.telemetry.errors == []
    assert report.limits.smallest_rejected is not None


async def test_the_run_stands_in_the_ledger_before_anything_else():
    """A run that dies at its first probe can still be found."""
    world = World()

    await run_in(world)

    assert [event for event, _ in world.journal[:4]] == ["open_run", "run_started", "wave_started", "remember"]
    assert [event for event, _ in world.journal[-2:]] == ["close_run", "run_ended"]


async def test_every_canary_is_committed_before_its_first_byte_leaves():
    """In each wave, all probes are remembered before the first one is sent, and known to the live index by then."""
    seen: list[bool] = []

    def respond(probe: Probe, prompt: Prompt) -> Observation:
        seen.append(world.instruments.live.knows(prompt.canary))
        assert prompt.canary in [stored.canary for stored in world.ledger.canaries]
        return world.llm.observe(probe, prompt)

    world = World(respond)
    await run_in(world, "seed_and_probe")

    assert all(seen)
    open_wave: set[str] = set()
    for event, label in world.journal:
        if event == "wave_started":
            open_wave = set()
        elif event == "remember":
            assert not open_wave, "remembered after something of the wave was sent"
        elif event == "send":
            open_wave.add(label)


async def test_a_leak_is_a_violation_attributed_to_its_donor():
    """Another tenant's text in an over-limit answer: VIOLATION, with the donor's probe named."""
    world = World()
    world.llm.leaks = True

    report = await run_in(world, "seed_and_probe")

    assert report.verdict.outcome is Outcome.VIOLATION
    leak = next(finding for finding in report.findings if finding.reason is Reason.FOREIGN_CANARY)
    assert report.donor_labels[str(leak.sightings[0].canary)].startswith("seed_and_probe/")
    assert report.tenant_names == {1: "alpha", 2: "bravo"}
    assert report.verdict.leak_rate_upper95 is None


@pytest.mark.parametrize("fails_at", ["open_run", "remember", "remember:baseline/0001", "record:calibration/0002"])
async def test_when_the_ledger_fails_nothing_more_is_sent(fails_at: str):
    """What could not be written down is never sent, and the fault reaches the caller."""
    world = World(fails_at=fails_at)

    with pytest.raises(LedgerError):
        await run_in(world)

    failed = next(place for place, entry in enumerate(world.journal) if ":".join(entry).startswith(fails_at))
    assert not [event for event, _ in world.journal[failed:] if event == "send"]
    sent = set(world.labels("send"))
    assert sent <= {stored.label for stored in world.ledger.canaries}


@pytest.mark.parametrize("fails_at", ["remember:baseline/0001", "record:baseline/0001"])
async def test_a_run_that_a_ledger_fault_ends_is_closed_as_inconclusive(fails_at: str):
    """The fault is counted, and the run does not stay open when the ledger works again."""
    world = World(fails_at=fails_at)

    with pytest.raises(LedgerError):
        await run_in(world)

    assert world.ledger.stored_runs["run-1"].outcome is Outcome.INCONCLUSIVE
    assert Reason.INTERNAL_ERROR in world.ledger.stored_runs["run-1"].reasons
    assert [component for component, _ in world.telemetry.errors] == ["runner"]


async def test_a_ledger_that_cannot_even_close_the_run_hides_no_fault():
    """The first fault is the one raised; telemetry hears of both and of the run's end."""
    world = World(lambda _probe, _prompt: 1 / 0, fails_at="close_run")

    with pytest.raises(ExceptionGroup) as raised:
        await run_in(world)

    assert isinstance(raised.value.exceptions[0], ZeroDivisionError)
    assert [type(error) for _, error in world.telemetry.errors] == [ExceptionGroup, LedgerError]
    assert world.labels("run_ended") == [""]


async def test_a_ledger_that_fails_at_the_end_fails_the_run():
    """A verdict that could not be stored is not reported as if it were."""
    world = World(fails_at="close_run")

    with pytest.raises(LedgerError):
        await run_in(world)


async def test_a_fault_of_a_scenario_closes_the_run_and_is_raised(monkeypatch: pytest.MonkeyPatch):
    """A bug of ours is no verdict about the target."""
    world = World()

    recorded = RecordedScenario(monkeypatch)

    def broken(stage: Stage) -> Generator[Wave, WaveEvidence, None]:
        yield Wave(probes=(recorded.probe(stage, 1),), purpose="see")
        raise KeyError("a bug")

    monkeypatch.setitem(SCENARIOS, "broken", broken)

    with pytest.raises(KeyError):
        await run_in(world, "broken")

    (report,) = world.ledger.reports
    assert report.verdict.outcome is Outcome.INCONCLUSIVE
    assert "KeyError" in next(f.message for f in report.findings if f.reason is Reason.INTERNAL_ERROR)


async def test_the_cap_is_enforced_before_the_call_that_would_pass_it():
    """No wave goes out whose most would pass the cap; what was spent stays below it, and the run says why it ended."""
    whole = World()
    full = (await run_in(whole, "baseline")).spent.tokens
    cap = full - 10
    world = World()

    report = await run_in(world, "baseline", max_run_tokens=cap)

    assert report.spent.tokens <= cap
    assert len(world.labels("send")) < len(whole.labels("send"))
    assert report.verdict.outcome is Outcome.INCONCLUSIVE
    assert Reason.BUDGET_EXHAUSTED in report.verdict.reasons
    assert f"{cap:,}" in next(f.message for f in report.findings if f.reason is Reason.BUDGET_EXHAUSTED)


async def test_a_cap_below_the_first_probe_sends_nothing():
    """The first call counts as well."""
    world = World()

    report = await run_in(world, max_run_tokens=10)

    assert world.labels("send") == world.labels("remember") == []
    assert report.verdict.outcome is Outcome.INCONCLUSIVE
    assert report.verdict.reasons[0] is Reason.BUDGET_EXHAUSTED


async def test_the_stop_switch_ends_the_run_at_the_next_wave():
    """Once thrown, nothing more is sent; what was judged stays, and the verdict is not green."""

    def respond(probe: Probe, prompt: Prompt) -> Observation:
        world.stop.is_thrown = probe.label == "baseline/0001"
        return world.llm.observe(probe, prompt)

    world = World(respond)
    report = await run_in(world, "baseline", "seed_and_probe")

    assert world.labels("send")[-1] == "baseline/0001"
    assert world.labels("record")[-1] == "baseline/0001"
    assert report.verdict.outcome is Outcome.INCONCLUSIVE
    assert Reason.INTERRUPTED in report.verdict.reasons


async def test_a_shared_target_is_left_alone_after_the_first_confirmed_violation():
    """Where real customers are, one proof is enough: no further probe of this or any later scenario."""
    world = World()
    world.llm.leaks = True

    report = await run_in(world, "seed_and_probe", "baseline", target={"shared": True})

    confirmed = next(
        place for place, judgement in enumerate(world.telemetry.judgements) if judgement.is_confirmed_violation
    )
    assert confirmed == len(world.telemetry.judgements) - 1
    assert report.verdict.outcome is Outcome.VIOLATION
    assert not any(label.startswith("baseline") for label in world.labels("send"))


async def test_an_unshared_target_is_probed_to_the_end():
    """Where nobody else's text can come out, all over-limit probes are sent."""
    world = World()
    world.llm.leaks = True

    await run_in(world, "seed_and_probe", "baseline", target={"shared": False})

    assert any(label.startswith("baseline") for label in world.labels("send"))


@pytest.mark.parametrize(("role", "sent"), [(Role.CONFIRMATION, 2), (Role.CHECK, 1)])
async def test_after_a_confirmed_violation_only_a_confirmation_may_still_go_out(
    monkeypatch: pytest.MonkeyPatch, role: Role, sent: int
):
    """Even a scenario that asks for more gets no more than a confirmation on a shared target."""
    scenario = RecordedScenario(monkeypatch, waves=2, role=role)
    world = World()

    def respond(probe: Probe, prompt: Prompt) -> Observation:
        observation = world.llm.observe(probe, prompt)
        if probe.scenario != "recorded":
            return observation
        donor = world.endpoint.texts[1]
        return dataclasses.replace(observation, text=donor)

    world.endpoint.respond = respond
    await run_in(world, "recorded", target={"shared": True})

    assert len([label for label in world.labels("send") if label.startswith("recorded")]) == sent
    assert scenario.is_closed


async def test_cancelling_closes_the_run_as_inconclusive_and_goes_on():
    """An interrupted run stands closed in the ledger, its answers so far recorded, no request left in flight."""
    reached = asyncio.Event()

    async def respond(probe: Probe, prompt: Prompt) -> Observation:
        if probe.label == "baseline/0001":
            reached.set()
            await asyncio.Event().wait()
        return world.llm.observe(probe, prompt)

    world = World(respond)
    running = asyncio.create_task(run_in(world))
    await asyncio.wait_for(reached.wait(), 10)
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    (report,) = world.ledger.reports
    assert report.verdict.outcome is Outcome.INCONCLUSIVE
    assert Reason.INTERRUPTED in report.verdict.reasons
    assert world.labels("record")[-1] == f"calibration/{CALIBRATION_PROBES:04d}"
    assert world.endpoint.in_flight == 0
    assert world.labels("run_ended") == [""]


async def test_a_ledger_that_fails_while_a_cancelled_run_is_closed_does_not_stop_the_cancellation():
    """The interrupt is what the caller asked for, and what it gets."""

    async def respond(probe: Probe, prompt: Prompt) -> Observation:
        await asyncio.Event().wait()
        return world.llm.observe(probe, prompt)

    world = World(respond, fails_at="close_run")
    running = asyncio.create_task(run_in(world))
    async with asyncio.timeout(10):
        while not world.labels("send"):  # noqa: ASYNC110 - the fake has no event for it
            await asyncio.sleep(0.001)
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert [type(error) for _, error in world.telemetry.errors] == [LedgerError]


async def test_the_llm_s_new_name_brings_a_new_calibration():
    """Token counts belong to one LLM: another name is measured afresh, under labels of its own, and the run goes on."""
    world = World()
    world.llm.models = lambda number: "llm" if number < CALIBRATION_PROBES else "llm-2"

    report = await run_in(world)

    labels = world.labels("send")
    assert [label for label in labels if label.startswith("calibration-2/")]
    assert len(labels) == len(set(labels))
    assert labels[-1].startswith("baseline/")
    assert Reason.CALIBRATION_FAILED not in report.verdict.reasons


async def test_an_llm_that_changes_its_name_for_ever_ends_the_run():
    """Recalibrations are bounded; beyond them no length can be trusted, which is no green verdict."""
    world = World()
    world.llm.models = lambda number: f"llm-{number}"

    report = await run_in(world, settings={"baseline_probes": 40})

    calibrations = {label.split("/")[0] for label in world.labels("send") if label.startswith("calibration")}
    assert len(calibrations) == MAX_RECALIBRATIONS + 1
    assert report.verdict.outcome is Outcome.INCONCLUSIVE
    assert Reason.CALIBRATION_FAILED in report.verdict.reasons


async def test_a_change_of_name_at_a_scenario_s_end_is_measured_before_the_next(monkeypatch: pytest.MonkeyPatch):
    """The next scenario plans with the counts of the LLM that now answers."""
    scenario = RecordedScenario(monkeypatch)
    world = World()
    world.llm.models = lambda number: "llm" if number < CALIBRATION_PROBES else "llm-2"

    await run_in(world, "recorded", "recorded")

    assert [stage.calibration.model_reported for stage in scenario.stages] == ["llm", "llm-2"]


@pytest.mark.parametrize(
    ("observation", "reason", "words"),
    [
        (refusing(RefusalReason.AUTH, 401), Reason.UNAUTHORISED, "The credential was refused (HTTP 401)"),
        (refusing(RefusalReason.NOT_FOUND, 404), Reason.NOT_FOUND, "knows no such route or LLM (HTTP 404)"),
        (refusing(RefusalReason.RATE, 429), Reason.BUSY, "limits the rate (HTTP 429)"),
        (refusing(RefusalReason.SERVER, 500), Reason.SERVER_ERROR, "The target failed (HTTP 500)"),
        (
            Observation(sent_at=NOON, failure=FailureKind.CONNECT, failure_detail="no connection (OSError)"),
            Reason.UNREACHABLE,
            "could not be reached (no connection (OSError))",
        ),
        (
            Observation(sent_at=NOON, failure=FailureKind.HANG, failure_detail="no answer began within 1 s"),
            Reason.HANG,
            "no answer began within 1 s",
        ),
        (
            Observation(sent_at=NOON, status=200, text="Hello.", finish_reason="stop", is_terminated=True),
            Reason.USAGE_MISSING,
            "reports no prompt tokens",
        ),
    ],
    ids=lambda value: value.value if isinstance(value, Reason) else "",
)
async def test_a_calibration_without_a_usable_answer_says_why_and_asks_once(
    observation: Observation, reason: Reason, words: str
):
    """One request, an INCONCLUSIVE run, the cause as its first reason and in the finding about the run."""
    world = World(lambda _probe, _prompt: observation)

    report = await run_in(world)

    assert world.labels("send") == ["calibration/0001"]
    assert report.verdict.outcome is Outcome.INCONCLUSIVE
    assert report.verdict.reasons[0] is reason
    failed = next(finding for finding in report.findings if finding.reason is Reason.CALIBRATION_FAILED)
    assert words in failed.message
    assert "calibration/0001" in failed.message
    assert failed.probe_label == ""


async def test_a_calibration_that_does_not_add_up_says_so():
    """Answers with counts that do not grow with the prompt are no calibration."""

    def respond(probe: Probe, prompt: Prompt) -> Observation:
        return dataclasses.replace(world.llm.observe(probe, prompt), usage=Usage(prompt_tokens=7))

    world = World(respond)
    report = await run_in(world)

    assert len(world.labels("send")) == CALIBRATION_PROBES
    failed = next(finding for finding in report.findings if finding.reason is Reason.CALIBRATION_FAILED)
    assert "do not add up" in failed.message
    assert report.verdict.outcome is Outcome.INCONCLUSIVE


async def test_a_refusal_for_length_that_counts_nothing_is_no_calibration():
    """A target that refuses even the smallest prompt is told by its first answer."""
    world = World(lambda _probe, _prompt: refusing(RefusalReason.LENGTH, 400))

    report = await run_in(world)

    assert world.labels("send") == ["calibration/0001"]
    assert report.verdict.reasons[0] is Reason.REJECTED_BELOW_LIMIT


@pytest.mark.parametrize("ending", ["end", "stop", "cap", "cancel", "fault"])
async def test_a_scenario_s_generator_is_closed_in_every_case(monkeypatch: pytest.MonkeyPatch, ending: str):
    """Its `finally` runs, however the run ends."""
    scenario = RecordedScenario(monkeypatch, waves=3, size=1_500)
    running: list[asyncio.Task[RunReport]] = []

    async def respond(probe: Probe, prompt: Prompt) -> Observation:
        if probe.label == "recorded/0002":
            world.stop.is_thrown = ending == "stop"
            if ending == "cancel":
                running[0].cancel()
                await asyncio.sleep(10)
            if ending == "fault":
                raise ZeroDivisionError
        return world.llm.observe(probe, prompt)

    world = World(respond)
    cap = 5_500 if ending == "cap" else 1_000_000
    running.append(asyncio.create_task(run_in(world, "recorded", max_run_tokens=cap)))
    await asyncio.wait(running, timeout=20)

    assert running[0].done()
    assert scenario.is_closed
    failure = None if running[0].cancelled() else running[0].exception()
    assert (failure is not None) == (ending == "fault")
    assert running[0].cancelled() == (ending == "cancel")


async def test_an_answer_s_text_is_not_reachable_from_anything_that_outlives_its_reading():
    """Judgements, reports, ledger and telemetry hold hash and counts; no attribute of theirs leads to a word of it."""
    secret = "Sehr geehrte Frau Huber, Ihre Diagnose lautet"
    thought = "the customer says her pin is 4711"

    def respond(probe: Probe, prompt: Prompt) -> Observation:
        observation = world.llm.observe(probe, prompt)
        return dataclasses.replace(observation, text=f"{observation.text} {secret}", reasoning=thought)

    world = World(respond)
    report = await run_in(world, "baseline", "seed_and_probe")

    kept = (report, world.telemetry.judgements, world.ledger.judgements, world.ledger.reports)
    for shown in (repr(kept), pickle.dumps(kept).decode("latin-1")):
        assert secret not in shown
        assert thought not in shown
        assert world.endpoint.texts[0] not in shown
    served = [judgement for judgement in world.telemetry.judgements if judgement.evidence.answer is Answer.SERVED_FULL]
    assert served
    assert all(judgement.evidence.observation.reasoning_characters == len(thought) for judgement in served)
    assert all(judgement.evidence.reading.characters > len(secret) for judgement in served)


async def test_the_same_serial_twice_makes_no_second_canary():
    """A canary in flight names one probe only: a serial that is taken is drawn again."""
    world = World()
    world.serials.given = [7, 7, 8]

    await run_in(world)

    canaries = [stored.canary for stored in world.ledger.canaries]
    assert len(canaries) == len(set(canaries))
    assert world.serials.drawn == len(canaries) + 1


async def test_spending_is_told_probe_by_probe_and_adds_up():
    """What telemetry hears of each probe sums up to what the report says."""
    world = World()

    report = await run_in(world, "seed_and_probe")

    assert sum(spent.tokens for spent in world.telemetry.spent) == report.spent.tokens
    assert report.spent.requests == len(world.labels("send"))
    assert 0 < report.spent.tokens <= report.estimate.tokens


def test_the_fake_llm_tells_the_truth_unless_told_otherwise():
    """The tests above rest on an honest opponent: phrases, own text, true counts, refusals from the limit on."""
    llm = FakeLlm()
    filler = " word" * 16
    reply = llm.reply("alpha", f"The harbour phrase is one2 two.\nThe harbour phrase is abcd efgh ijkl.\n{filler}\n")

    assert reply.text is not None
    assert "abcd efgh ijkl" in reply.text
    assert filler in reply.text
    assert llm.reply("alpha", "x " * 10_000).text is None
