"""From a finished exchange to an observation: what the peer named passes as bounded, blinded labels only."""

import dataclasses
import datetime as dt
from collections.abc import Mapping

from prober.domain.observation import Observation, Refusal, Timeline
from prober.endpoint.collector import AnswerCollector, Shape
from prober.endpoint.exchange import Exchange
from prober.endpoint.labels import Blinds, digest, label

_EVIDENCE_HEADERS = frozenset(
    {
        "anthropic-ratelimit-requests-remaining",
        "cf-aig-cache-status",
        "cf-aig-log-id",
        "cf-ray",
        "content-type",
        "openai-processing-ms",
        "request-id",
        "retry-after",
        "server",
        "x-ratelimit-remaining-requests",
        "x-request-id",
    }
)
_ACCOUNT_HEADERS = frozenset({"anthropic-organization-id", "openai-organization"})
"""They say whose account was charged: kept as hashes, since equality is all that is asked of them."""

_EVIDENCE_PREFIX = "x-litellm-"
_EVIDENCE_HEADER_COUNT = 40


def observed(
    exchange: Exchange, blinds: Blinds, *, sent_at: dt.datetime, request_id: str, timeline: Timeline
) -> Observation:
    """Take down all that one exchange brought back."""
    observation = Observation(
        sent_at=sent_at,
        request_id=request_id,
        status=exchange.status,
        failure=exchange.failure,
        failure_detail=exchange.failure_detail,
        refusal=_blinded(exchange.refusal, blinds),
        other_text=exchange.other_text,
        timeline=timeline,
        evidence_headers=_evidence(exchange.headers, blinds),
        bytes_received=exchange.bytes_received,
        is_connection_reused=exchange.is_connection_reused,
    )
    return observation if exchange.answer is None else _with_answer(observation, exchange.answer, blinds)


def _with_answer(observation: Observation, answer: AnswerCollector, blinds: Blinds) -> Observation:
    """Add what came under a 2xx status."""
    return dataclasses.replace(
        observation,
        text=answer.text,
        reasoning=answer.reasoning,
        finish_reason=blinds.over_any(answer.finish_reason),
        usage=answer.usage,
        response_id=blinds.over_any(answer.response_id),
        model_reported=blinds.over_any(answer.model),
        is_stream=answer.shape is Shape.STREAM,
        is_terminated=answer.is_terminated,
        token_frames=answer.token_frames,
        bad_frames=answer.bad_frames,
        system_fingerprint=blinds.over_any(answer.system_fingerprint),
        response_ids=answer.response_ids,
        finish_marks=answer.finish_marks,
        logprobs_agree=answer.logprobs_agree,
    )


def _blinded(refusal: Refusal | None, blinds: Blinds) -> Refusal | None:
    return None if refusal is None else dataclasses.replace(refusal, code=blinds.over(refusal.code))


def _evidence(headers: Mapping[str, str], blinds: Blinds) -> dict[str, str]:
    """Allow-listed headers, their values as labels."""
    allowed = (
        (blinds.over(label(name)), blinds.over(label(_first_part(value))))
        for name, value in headers.items()
        if value.strip() and (name in _EVIDENCE_HEADERS or name.startswith(_EVIDENCE_PREFIX))
    )
    accounts = {
        name: digest(value.strip()) for name, value in headers.items() if name in _ACCOUNT_HEADERS and value.strip()
    }
    return accounts | {name: value for (name, value), _ in zip(allowed, range(_EVIDENCE_HEADER_COUNT), strict=False)}


def _first_part(value: str) -> str:
    """A value without its parameters: `text/event-stream; charset=utf-8`."""
    return value.split(";", 1)[0].strip()
