"""Says beforehand what a campaign will send: its own generators, played against a healthy target of the mind."""

import datetime as dt
from collections.abc import Generator, Mapping
from typing import TypeVar

from prober.domain.answer import Answer
from prober.domain.campaign import Campaign
from prober.domain.canary import Canary
from prober.domain.evidence import Evidence, History, Judgement, WaveEvidence
from prober.domain.finding import Finding, Reason
from prober.domain.mark import AnswerMark
from prober.domain.observation import FailureKind, Observation, Refusal, RefusalReason, Usage
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, PromptSpec, Role, Wave
from prober.domain.prompt import Prompt
from prober.domain.reading import Reading
from prober.domain.verdict import Spending
from prober.plan.calibrate import calibrate
from prober.plan.scenarios import SCENARIOS
from prober.plan.stage import Stage
from prober.prompt import tokens
from prober.prompt.tokens import Calibration

_FIXED_TOKENS = 160
_LINE_TOKENS = 17
_INSTRUCTION_TOKENS = 16
"""A tokenizer in which every filler word is one token; another one would only need a few rewrites more."""

Returned = TypeVar("Returned")


def estimate(campaign: Campaign) -> Spending:
    """Add up requests and tokens of a campaign whose target is healthy, calibration included: `estimates`, summed."""
    return sum(estimates(campaign).values(), Spending())


def estimates(campaign: Campaign) -> Mapping[str, Spending]:
    """Say what each tenant, by name, sends in a campaign whose target is healthy, calibration included.

    Upper figures: every answer uses its whole output limit, a refused prompt counts in full, since whether it is
    refused is what the probe asks, an abandoned one too, and there was an earlier run whose references are asked again.
    A hit adds a re-probe or two. Scenario names must be registered.
    """
    form = campaign.target.text_form
    counts = [_count(spec) for spec in tokens.calibration_specs(form)]
    calibration = tokens.calibrate(form, counts, ask=campaign.target.ask)
    earlier = _Rehearsal(campaign, calibration)
    earlier.play_scenarios()
    rehearsal = _Rehearsal(campaign, calibration, tuple(earlier.marks))
    rehearsal.play(calibrate(campaign.target, campaign.tenants[0]))
    rehearsal.play_scenarios()
    return rehearsal.spent


class _Rehearsal:
    """A healthy target: serves below its first rejected length, refuses from there on, counts exactly."""

    def __init__(self, campaign: Campaign, calibration: Calibration, reference: tuple[AnswerMark, ...] = ()) -> None:
        self.campaign = campaign
        self.calibration = calibration
        self.reference = reference
        self.requests = 0
        self.spent: dict[str, Spending] = {}
        self.marks: list[AnswerMark] = []
        """Of the reference probes."""
        self.timings: dict[int, tuple[float, ...]] = {}

    def play_scenarios(self) -> None:
        """Play all of the campaign's scenarios in their order."""
        for name in self.campaign.scenarios:
            stage = Stage(
                target=self.campaign.target,
                tenants=self.campaign.tenants,
                settings=self.campaign.settings,
                calibration=self.calibration,
                reference=self.reference,
            )
            self.play(SCENARIOS[name](stage))

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
        answer = _answer(probe, is_fitting=length < self.campaign.target.first_rejected_tokens)
        history = History(anchors=dict(self.timings))
        if probe.role is Role.ANCHOR:
            self.timings[length] = (*self.timings.get(length, ()), 1.0)
        cost = Spending(requests=1, prompt_tokens=length, output_tokens=probe.max_output_tokens)
        self.requests += 1
        self.spent[probe.tenant.name] = self.spent.get(probe.tenant.name, Spending()) + cost
        canary = probe.prompt.rewrite_of or Canary.of(probe.tenant.number, 0, self.requests)
        evidence = Evidence(
            target=self.campaign.target,
            probe=probe,
            prompt=Prompt(
                canary=canary,
                text="",
                needles=(),
                filler_words=0,
                planned_tokens=probe.prompt.tokens,
                token_tolerance=0,
            ),
            observation=_observe(answer, length),
            answer=answer,
            reading=Reading(characters=0, words=0, sha256=""),
            history=history,
        )
        finding = Finding(detector="rehearsal", outcome=Outcome.CLEAN, reason=_REASONS[answer], message="Rehearsed.")
        judgement = Judgement(evidence=evidence, findings=(finding,))
        if probe.role is Role.REFERENCE:
            self.marks.append(_mark(judgement))
        return judgement


_REASONS = {
    Answer.SERVED_FULL: Reason.SERVED,
    Answer.REJECTED_OK: Reason.REJECTED_AS_DUE,
    Answer.REFUSED_OTHERWISE: Reason.REFUSED_AS_DUE,
    Answer.ABANDONED: Reason.ABANDONED,
}


def _answer(probe: Probe, *, is_fitting: bool) -> Answer:
    if probe.options.malformation is not None:
        return Answer.REFUSED_OTHERWISE
    if not is_fitting:
        return Answer.REJECTED_OK
    return Answer.SERVED_FULL if probe.disconnect is None else Answer.ABANDONED


def _count(spec: PromptSpec) -> int:
    if spec.tokens is not None:
        return spec.tokens
    lines = spec.filler_lines or 0
    return _FIXED_TOKENS + _LINE_TOKENS * lines + _INSTRUCTION_TOKENS * spec.instruction_lines


def _observe(answer: Answer, length: int) -> Observation:
    never_sent = dt.datetime.min.replace(tzinfo=dt.UTC)
    if answer is Answer.SERVED_FULL:
        return Observation(sent_at=never_sent, status=200, usage=Usage(prompt_tokens=length))
    if answer is Answer.ABANDONED:
        return Observation(sent_at=never_sent, failure=FailureKind.ABANDONED)
    is_long = answer is Answer.REJECTED_OK
    reason = RefusalReason.LENGTH if is_long else RefusalReason.OTHER
    refusal = Refusal(reason=reason, stated_tokens=length if is_long else None)
    return Observation(sent_at=never_sent, status=400, refusal=refusal)


def _mark(judgement: Judgement) -> AnswerMark:
    evidence = judgement.evidence
    return AnswerMark(
        label=evidence.probe.label,
        scenario=evidence.probe.scenario,
        role=evidence.probe.role,
        tenant_number=evidence.probe.tenant.number,
        canary=evidence.prompt.canary,
        text_sha256=evidence.prompt.text_sha256,
        options=evidence.probe.options,
        trial=evidence.probe.trial,
        answer=evidence.answer,
        outcome=judgement.outcome,
        sha256=evidence.reading.sha256,
        signature=(),
        words=0,
        response_id=None,
        is_recall_missed=None,
        is_garbled=False,
        first_token_seconds=None,
        end_seconds=None,
        cached_tokens=None,
        prompt_tokens=None,
        system_fingerprint=None,
        model_reported=None,
    )
