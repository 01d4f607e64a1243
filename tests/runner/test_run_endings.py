"""The ways in which a run ends early, and what stands in the ledger then."""

import asyncio
import dataclasses
from collections.abc import Generator

import pytest

from prober.domain.errors import LeaseLostError, LedgerError
from prober.domain.evidence import WaveEvidence
from prober.domain.finding import Reason
from prober.domain.observation import Observation
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Role, Wave
from prober.domain.prompt import Prompt
from prober.plan.scenarios import SCENARIOS
from prober.plan.stage import Stage
from tests.support.ports import RecordedScenario, World, run_in

CALIBRATION_PROBES = 8


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


@pytest.mark.parametrize("lost_at", ["remember:baseline/0001", "record:baseline/0001", "close_run"])
async def test_a_job_that_another_replica_took_over_is_no_fault_of_ours(lost_at: str):
    """Nothing more is sent or written, the caller hears why, gauges fall back, and no internal error is counted."""
    world = World()
    world.ledger.lost_at = lost_at

    with pytest.raises(LeaseLostError):
        await run_in(world)

    lost = next(place for place, entry in enumerate(world.journal) if ":".join(entry).startswith(lost_at))
    assert not [event for event, _ in world.journal[lost:] if event == "send"]
    assert world.telemetry.errors == []
    assert world.labels("run_ended") == [""]
    [report] = world.telemetry.reports
    assert lost_at == "close_run" or report.verdict.outcome is Outcome.INCONCLUSIVE


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


async def test_a_budget_that_ends_first_leaves_the_bound_that_was_reached():
    """A leak rate that was to be excluded and was not: how many clean checks are missing stands beside the cap."""
    world = World()
    settings = {"rounds": 1, "excluded_leak_rate": 0.01}

    report = await run_in(world, "replay", settings=settings, max_run_tokens=60_000)

    checks = [probe for probe in report.probes if probe.role == Role.CHECK.value]
    clean = sum(probe.outcome is Outcome.CLEAN for probe in checks)
    (sentence,) = (f.message for f in report.findings if f.reason is Reason.TOO_FEW_SAMPLES)
    assert Reason.BUDGET_EXHAUSTED in report.verdict.reasons
    assert 0 < clean < 299
    assert f"{clean} of the 299 clean checks" in sentence
    assert f"{299 - clean} are missing" in sentence


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


@pytest.mark.parametrize("ending", ["end", "stop", "cap", "cancel", "fault"])
async def test_a_scenario_s_generator_is_closed_in_every_case(monkeypatch: pytest.MonkeyPatch, ending: str):
    """Its `finally` runs, however the run ends."""
    scenario = RecordedScenario(monkeypatch, waves=3, size=1_500)
    running: list[asyncio.Task[object]] = []

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


async def test_what_a_scenario_could_not_do_is_never_clean(monkeypatch: pytest.MonkeyPatch):
    """Sound answers alone clear nobody where the scenario says that it could not provoke the fault."""
    world = World()
    recorded = RecordedScenario(monkeypatch)
    recorded.shortfalls = ("The pools were not filled.",)

    report = await run_in(world, "recorded")

    assert report.verdict.outcome is Outcome.INCONCLUSIVE
    assert report.verdict.reasons == (Reason.TOO_FEW_SAMPLES,)
    assert "The pools were not filled." in [finding.message for finding in report.findings]


async def test_a_violation_outlives_the_ledger_that_could_not_take_it():
    """A disk that is full when a leak is recorded must not hide it from metrics and the closing report."""
    healthy_disk = World()
    healthy_disk.llm.leaks = True
    whole = await run_in(healthy_disk, "seed_and_probe")
    leaking = next(probe.label for probe in whole.probes if probe.outcome is Outcome.VIOLATION)
    world = World(fails_at=f"record:{leaking}")
    world.llm.leaks = True

    with pytest.raises(LedgerError):
        await run_in(world, "seed_and_probe")

    (report,) = world.telemetry.reports
    assert report.verdict.outcome is Outcome.VIOLATION
    assert world.labels("probe_judged")[-1] == leaking
