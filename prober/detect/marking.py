"""What stays of a judged probe for later comparisons."""

from prober.detect.charts import failings_of
from prober.detect.corruption import is_garbled
from prober.detect.counts import credible_cached_tokens
from prober.detect.recall import compared_miss
from prober.domain.evidence import Evidence, Judgement
from prober.domain.mark import AnswerMark
from prober.domain.outcome import Outcome


def mark_of(judgement: Judgement) -> AnswerMark:
    """Take down hashes and figures; timings only where they can be trusted, counts only where credible."""
    return mark_evidence(judgement.evidence, judgement.outcome)


def mark_evidence(evidence: Evidence, outcome: Outcome) -> AnswerMark:
    """As `mark_of`, of a probe whose outcome is given."""
    probe, prompt, observation, reading = evidence.probe, evidence.prompt, evidence.observation, evidence.reading
    timeline = observation.timeline
    return AnswerMark(
        label=probe.label,
        scenario=probe.scenario,
        role=probe.role,
        tenant_number=probe.tenant.number,
        canary=prompt.canary,
        text_sha256=prompt.text_sha256,
        options=probe.options,
        trial=probe.trial,
        answer=evidence.answer,
        outcome=outcome,
        sha256=reading.sha256,
        signature=reading.signature,
        words=reading.words,
        response_id=observation.response_id,
        is_recall_missed=compared_miss(evidence),
        is_garbled=is_garbled(evidence),
        first_token_seconds=timeline.first_token if timeline.is_trusted and observation.is_stream else None,
        end_seconds=timeline.end if timeline.is_trusted else None,
        cached_tokens=credible_cached_tokens(observation.usage),
        prompt_tokens=observation.usage.prompt_tokens,
        system_fingerprint=observation.system_fingerprint,
        model_reported=observation.model_reported,
        reasoning_tokens=observation.usage.reasoning_tokens,
        failings=failings_of(evidence),
    )
