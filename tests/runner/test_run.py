"""The main path, driven through its ports."""

import dataclasses
import pickle

from prober.domain.answer import Answer
from prober.domain.finding import Reason
from prober.domain.observation import Observation
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from tests.support.fake_llm import FakeLlm
from tests.support.ports import World, run_in

CALIBRATION_PROBES = 8


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
