"""What a run has gathered so far, and the report made of it."""

import dataclasses
import datetime as dt
from collections.abc import Mapping

from prober.detect.accounts import account_findings
from prober.detect.history import advance
from prober.detect.verdict import fold
from prober.domain.answer import Answer
from prober.domain.campaign import Run
from prober.domain.canary import Canary
from prober.domain.evidence import Evidence, History, Judgement, WaveEvidence
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.trace import Trace
from prober.domain.verdict import ProbeSummary, RunReport, Spending
from prober.plan.limits import limit_map, reported_tokens
from prober.prompt.tokens import Calibration


@dataclasses.dataclass(slots=True, kw_only=True)
class RunBook:
    """The only mutable state of a run; owned by `execute`."""

    run: Run
    estimate: Spending
    history: History = dataclasses.field(default_factory=History)
    spent: Spending = dataclasses.field(default_factory=Spending)
    judgements: list[Judgement] = dataclasses.field(default_factory=list)
    run_findings: list[Finding] = dataclasses.field(default_factory=list)
    """Findings about the run as a whole: cut by budget, interrupted, not calibrated."""
    donor_labels: dict[str, str] = dataclasses.field(default_factory=dict)
    calibrations: dict[Canary, Calibration | None] = dataclasses.field(default_factory=dict)
    """What the text of each canary was first composed by: a replay is, too, whatever was measured since."""

    def enter(self, judgement: Judgement, spent: Spending) -> None:
        """Add one judged probe."""
        self.judgements.append(judgement)
        self.history = advance(self.history, judgement)
        self.spent += spent
        evidence = judgement.evidence
        # A text that is sent again is still the first one's: it may be in another tenant's hands by then.
        self.donor_labels.setdefault(str(evidence.prompt.canary), evidence.probe.label)

    @property
    def has_confirmed_violation(self) -> bool:
        """True once a probe's violation needs no further probe."""
        return any(judgement.is_confirmed_violation for judgement in self.judgements)

    def note(self, reason: Reason, message: str) -> None:
        """Add an INCONCLUSIVE finding about the run as a whole."""
        self.run_findings.append(
            Finding(detector="runner", outcome=Outcome.INCONCLUSIVE, reason=reason, message=message)
        )

    def report(self, ended_at: dt.datetime) -> RunReport:
        """Fold everything into the one set of facts."""
        findings = [finding for judgement in self.judgements for finding in judgement.findings] + self.run_findings
        findings.extend(account_findings(self.run.campaign.tenants, self.judgements))
        findings.sort(key=lambda finding: -finding.outcome.rank)
        return RunReport(
            run=self.run,
            ended_at=ended_at,
            verdict=fold(findings, self.history),
            findings=tuple(findings),
            probes=tuple(map(summarise, self.judgements)),
            estimate=self.estimate,
            spent=self.spent,
            limits=limit_map(self.judgements),
            tenant_names={tenant.number: tenant.name for tenant in self.run.campaign.tenants},
            donor_labels=dict(self.donor_labels),
        )


def summarise(judgement: Judgement) -> ProbeSummary:
    """One report line of one probe."""
    evidence = judgement.evidence
    probe, prompt, observation = evidence.probe, evidence.prompt, evidence.observation
    return ProbeSummary(
        label=probe.label,
        scenario=probe.scenario,
        role=probe.role.value,
        tenant=probe.tenant.name,
        canary=str(prompt.canary),
        request_id=observation.request_id,
        planned_tokens=prompt.planned_tokens,
        prompt_tokens=observation.usage.prompt_tokens,
        expectation=probe.expectation.value,
        status=observation.status,
        answer=evidence.answer,
        outcome=judgement.outcome,
        reasons=tuple(dict.fromkeys(finding.reason for finding in judgement.findings)),
        first_token_seconds=observation.timeline.first_token,
        answer_sha256=evidence.reading.sha256,
        answer_characters=evidence.reading.characters,
        trace=_trace(evidence),
    )


def _trace(evidence: Evidence) -> Trace:
    observation = evidence.observation
    timeline, usage, refusal = observation.timeline, observation.usage, observation.refusal
    return Trace(
        sent_at=observation.sent_at,
        is_stream=observation.is_stream,
        body_acked_seconds=timeline.body_acked,
        headers_seconds=timeline.headers,
        last_token_seconds=timeline.last_token,
        end_seconds=timeline.end,
        is_timing_trusted=timeline.is_trusted,
        max_output_tokens=evidence.probe.max_output_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=usage.cached_tokens,
        finish_reason=observation.finish_reason,
        failure=None if observation.failure is None else observation.failure.value,
        refusal=None if refusal is None else refusal.reason.value,
        refusal_code=None if refusal is None else refusal.code,
        stated_limits=() if refusal is None else refusal.stated_limits,
        stated_tokens=None if refusal is None else refusal.stated_tokens,
        response_id=observation.response_id,
        model_reported=observation.model_reported,
        system_fingerprint=observation.system_fingerprint,
        headers=dict(observation.evidence_headers),
    )


def why_uncalibrated(last: Judgement) -> str:
    """Say what was wrong with the last answer of a calibration that came to nothing.

    Args:
        last: the answer without a usable count, or the last one where the counts of all did not add up.
    """
    label = last.evidence.probe.label
    blame = next((finding for finding in last.findings if finding.outcome is not Outcome.CLEAN), None)
    if blame is not None:
        return f"{label}: {blame.message}"
    if reported_tokens(last) is None:
        return f"{label} brought back no count of its prompt's tokens."
    return "the counts of equal and longer prompts do not add up; one was cut, or counted otherwise."


def cost_of(judgement: Judgement) -> Spending:
    """Tokens one probe spent: as reported, else as planned; a refused prompt was not processed.

    A count that is not the prompt's (the stub of a rejected one counts 1) must not buy further probes: the plan stands
    against it, but where the answer was made from a shortened prompt. Nor must a count of fewer tokens than came.
    """
    evidence = judgement.evidence
    usage = evidence.observation.usage
    if evidence.answer.is_rejected or evidence.answer in _NOT_PROCESSED:
        return Spending(requests=1)
    return Spending(
        requests=1,
        prompt_tokens=_prompt_cost(judgement),
        output_tokens=max(usage.completion_tokens or 0, evidence.observation.token_frames),
    )


def costs_of(evidence: WaveEvidence) -> Mapping[str, Spending]:
    """Tokens that a wave spent, by tenant."""
    costs: dict[str, Spending] = {}
    for judgement in evidence:
        name = judgement.evidence.probe.tenant.name
        costs[name] = costs.get(name, Spending()) + cost_of(judgement)
    return costs


def _prompt_cost(judgement: Judgement) -> int:
    counted, believed = judgement.evidence.observation.usage.prompt_tokens, reported_tokens(judgement)
    if believed is not None and counted is not None:
        return believed
    if counted is not None and judgement.evidence.answer is Answer.TRUNCATED:
        return counted
    return max(counted or 0, planned_cost(judgement).prompt_tokens)


def planned_cost(judgement: Judgement) -> Spending:
    """What the probe was reckoned at before it was sent."""
    prompt = judgement.evidence.prompt
    return reckon(prompt.planned_tokens, prompt.filler_words, judgement.evidence.probe.max_output_tokens)


UNCALIBRATED_TOKENS_PER_WORD = 3
"""Upper figure for text that was not counted yet: four-letter words cost one to three tokens in known tokenizers."""


def reckon(planned_tokens: int | None, filler_words: int, max_output_tokens: int) -> Spending:
    """Reckon the most a call can spend, before it is sent."""
    prompt_tokens = planned_tokens if planned_tokens is not None else filler_words * UNCALIBRATED_TOKENS_PER_WORD
    return Spending(requests=1, prompt_tokens=prompt_tokens, output_tokens=max_output_tokens)


_NOT_PROCESSED = frozenset(
    {
        Answer.BUSY,
        Answer.UNAUTHORISED,
        Answer.NOT_FOUND,
        Answer.TOO_MANY_BYTES,
        Answer.REFUSED_OTHERWISE,
        Answer.UNREACHABLE,
    }
)
