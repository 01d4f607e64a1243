"""What a run does before and between scenarios: token counts."""

import dataclasses

import pytest

from prober.domain.finding import Reason
from prober.domain.observation import FailureKind, Observation, Refusal, RefusalReason, Usage
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from prober.runner.run import MAX_RECALIBRATIONS
from tests.support.evidence import NOON
from tests.support.ports import RecordedScenario, World, run_in

CALIBRATION_PROBES = 8


def refusing(reason: RefusalReason, status: int) -> Observation:
    return Observation(sent_at=NOON, status=status, refusal=Refusal(reason=reason))


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
