"""Says beforehand what a campaign will send: its own generators, played against a healthy target of the mind."""

import datetime as dt
from collections.abc import Generator
from typing import TypeVar

from prober.domain.campaign import Campaign
from prober.domain.canary import Canary
from prober.domain.evidence import Answer, Evidence, History, Judgement, WaveEvidence
from prober.domain.finding import Finding, Reason
from prober.domain.observation import Observation, Refusal, RefusalReason, Usage
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, PromptSpec, Role, Wave
from prober.domain.prompt import Prompt
from prober.domain.reading import Reading
from prober.domain.verdict import Spending
from prober.plan.calibrate import calibrate
from prober.plan.scenarios import SCENARIOS
from prober.plan.stage import Stage
from prober.prompt import tokens

_FIXED_TOKENS = 160
_LINE_TOKENS = 17
_INSTRUCTION_TOKENS = 16
"""A tokenizer in which every filler word is one token; another one would only need a few rewrites more."""

Returned = TypeVar("Returned")


def estimate(campaign: Campaign) -> Spending:
    """Add up requests and tokens of a campaign whose target is healthy, calibration included.

    Upper figures: every answer uses its whole output limit, and a refused prompt counts in full, since whether it is
    refused is what the probe asks. A hit adds a re-probe or two. Scenario names must be registered.
    """
    rehearsal = _Rehearsal(campaign)
    rehearsal.play(calibrate(campaign.target, campaign.tenants[0]))
    form = campaign.target.text_form
    calibration = tokens.calibrate(form, [_count(spec) for spec in tokens.calibration_specs(form)])
    for name in campaign.scenarios:
        stage = Stage(
            target=campaign.target, tenants=campaign.tenants, settings=campaign.settings, calibration=calibration
        )
        rehearsal.play(SCENARIOS[name](stage))
    return rehearsal.spent


class _Rehearsal:
    """A healthy target: serves below its first rejected length, refuses from there on, counts exactly."""

    def __init__(self, campaign: Campaign) -> None:
        self.target = campaign.target
        self.spent = Spending()
        self.timings: dict[int, tuple[float, ...]] = {}

    def play(self, generator: Generator[Wave, WaveEvidence, Returned]) -> Returned:
        """Play one generator to its end and return what it returns."""
        try:
            wave = next(generator)
            while True:
                wave = generator.send(tuple(map(self._judge, wave.probes)))
        except StopIteration as end:
            returned: Returned = end.value
            return returned

    def _judge(self, probe: Probe) -> Judgement:
        length = _count(probe.prompt)
        is_served = length < self.target.first_rejected_tokens
        history = History(anchors=dict(self.timings))
        if probe.role is Role.ANCHOR:
            self.timings[length] = (*self.timings.get(length, ()), 1.0)
        self.spent += Spending(requests=1, prompt_tokens=length, output_tokens=probe.max_output_tokens)
        evidence = Evidence(
            target=self.target,
            probe=probe,
            prompt=Prompt(
                canary=Canary.of(probe.tenant.number, 0, 0),
                text="",
                needles=(),
                filler_words=0,
                planned_tokens=probe.prompt.tokens,
                token_tolerance=0,
            ),
            observation=_observe(length, is_served=is_served),
            answer=Answer.SERVED_FULL if is_served else Answer.REJECTED_OK,
            reading=Reading(characters=0, words=0, sha256=""),
            history=history,
        )
        reason = Reason.SERVED if is_served else Reason.REJECTED_AS_DUE
        finding = Finding(detector="rehearsal", outcome=Outcome.CLEAN, reason=reason, message="Rehearsed.")
        return Judgement(evidence=evidence, findings=(finding,))


def _count(spec: PromptSpec) -> int:
    if spec.tokens is not None:
        return spec.tokens
    lines = spec.filler_lines or 0
    return _FIXED_TOKENS + _LINE_TOKENS * lines + _INSTRUCTION_TOKENS * spec.instruction_lines


def _observe(length: int, *, is_served: bool) -> Observation:
    never_sent = dt.datetime.min.replace(tzinfo=dt.UTC)
    if is_served:
        return Observation(sent_at=never_sent, status=200, usage=Usage(prompt_tokens=length))
    refusal = Refusal(reason=RefusalReason.LENGTH, stated_tokens=length)
    return Observation(sent_at=never_sent, status=400, refusal=refusal)
