"""Every observation has one name."""

import pytest
from hypothesis import given, settings

from prober.detect.answer import classify
from prober.domain.answer import Answer
from prober.domain.observation import FailureKind, Observation, Refusal, RefusalReason, Usage
from prober.domain.options import Malformation, RequestOptions
from prober.domain.target import Target
from tests.support.evidence import OVER, a_probe, a_prompt, a_target, an_observation, observations

PROMPT = a_prompt(planned_tokens=OVER)
TEXT = {"text": "The harbour phrase is a b c.", "usage": Usage(prompt_tokens=OVER, completion_tokens=60)}
SILENT = {"text": "", "token_frames": 0}


def name(target: Target | None = None, **changes: object) -> Answer:
    """Classify a whole answer with changes."""
    observation = an_observation(**{**TEXT, **changes})
    return classify(target or a_target(), a_probe(), PROMPT, observation)


@pytest.mark.parametrize(
    ("failure", "answer"),
    [
        (FailureKind.CONNECT, Answer.UNREACHABLE),
        (FailureKind.DNS, Answer.UNREACHABLE),
        (FailureKind.TLS, Answer.UNREACHABLE),
        (FailureKind.PROXY, Answer.UNREACHABLE),
        (FailureKind.WRITE, Answer.UNREACHABLE),
        (FailureKind.HANG, Answer.HANG),
        (FailureKind.CLOSED_EARLY, Answer.MALFORMED),
        (FailureKind.PROTOCOL, Answer.MALFORMED),
        (FailureKind.TOO_LARGE, Answer.MALFORMED),
        (FailureKind.ABANDONED, Answer.ABANDONED),
        (FailureKind.INTERNAL, Answer.UNREACHABLE),
    ],
)
def test_a_failed_exchange_is_named_by_its_failure(failure: FailureKind, answer: Answer):
    """Also when text came before: a cut answer is never a served one."""
    assert name(failure=failure) is answer
    assert name(failure=failure, status=None, **SILENT) is answer


def test_every_failure_kind_and_refusal_reason_has_a_name():
    """No kind is forgotten when one is added."""
    for failure in FailureKind:
        assert isinstance(name(failure=failure), Answer)
    for reason in RefusalReason:
        assert not name(status=400, refusal=Refusal(reason=reason), **SILENT).is_served


@pytest.mark.parametrize(
    ("reason", "answer"),
    [
        (RefusalReason.LENGTH, Answer.REJECTED_OK),
        (RefusalReason.AUTH, Answer.UNAUTHORISED),
        (RefusalReason.RATE, Answer.BUSY),
        (RefusalReason.OVERLOAD, Answer.BUSY),
        (RefusalReason.BYTES, Answer.TOO_MANY_BYTES),
        (RefusalReason.NOT_FOUND, Answer.NOT_FOUND),
        (RefusalReason.SERVER, Answer.SERVER_ERROR),
        (RefusalReason.OTHER, Answer.REFUSED_OTHERWISE),
    ],
)
@pytest.mark.parametrize("status", [200, 400, 403, 413, 422])
def test_a_refusal_is_named_by_its_reason_and_not_by_its_status(reason: RefusalReason, answer: Answer, status: int):
    """A revoked credential's 403 is no correct rejection, an enveloped refusal under 200 is one."""
    assert name(status=status, refusal=Refusal(reason=reason), **SILENT) is answer


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        (SILENT, Answer.REJECTED_IN_STREAM),
        ({"text": "and then the", "token_frames": 3}, Answer.MALFORMED),
        ({"text": "", "reasoning": "Hm", "token_frames": 0}, Answer.MALFORMED),
        ({"text": "", "token_frames": 2}, Answer.MALFORMED),
    ],
)
def test_a_rejection_in_the_stream_counts_before_the_first_token_only(changes: dict[str, object], answer: Answer):
    """A healthy SGLang sends 200 and an error frame; one that generated first did not reject."""
    refusal = Refusal(reason=RefusalReason.LENGTH, in_stream=True)
    assert name(refusal=refusal, **changes) is answer


def test_a_refusal_outweighs_the_broken_exchange_around_it_but_not_our_own_hang_up():
    """Proxies refuse and reset while the body is still being written."""
    refusal = Refusal(reason=RefusalReason.BYTES)
    assert name(status=413, refusal=refusal, failure=FailureKind.WRITE, **SILENT) is Answer.TOO_MANY_BYTES
    assert name(refusal=refusal, failure=FailureKind.ABANDONED) is Answer.ABANDONED
    assert name(refusal=refusal, failure=FailureKind.INTERNAL) is Answer.UNREACHABLE


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (302, Answer.REFUSED_OTHERWISE),
        (400, Answer.REFUSED_OTHERWISE),
        (401, Answer.UNAUTHORISED),
        (403, Answer.UNAUTHORISED),
        (404, Answer.NOT_FOUND),
        (413, Answer.TOO_MANY_BYTES),
        (429, Answer.BUSY),
        (500, Answer.SERVER_ERROR),
        (503, Answer.BUSY),
        (529, Answer.SERVER_ERROR),
        (None, Answer.MALFORMED),
    ],
)
def test_a_bare_status_is_never_a_length_rejection(status: int | None, answer: Answer):
    """Without a classified body nobody knows why."""
    assert name(status=status, **SILENT) is answer


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({}, Answer.SERVED_FULL),
        ({"bad_frames": 1}, Answer.SERVED_FULL),
        ({"is_terminated": False}, Answer.SERVED_FULL),
        ({"bad_frames": 1, **SILENT}, Answer.MALFORMED),
        ({"is_terminated": False, **SILENT}, Answer.MALFORMED),
        ({"finish_reason": None}, Answer.SERVED_FULL),
        ({"finish_reason": "abort"}, Answer.SERVER_ERROR),
        ({"finish_reason": "error"}, Answer.SERVER_ERROR),
        ({"finish_reason": "content_filter"}, Answer.REFUSED_OTHERWISE),
        ({"finish_reason": "tool_calls", **SILENT}, Answer.SERVED_FULL),
        ({"usage": Usage()}, Answer.SERVED_FULL),
        ({"usage": Usage(prompt_tokens=681_274)}, Answer.TRUNCATED),
        ({"usage": Usage(prompt_tokens=1)}, Answer.SERVED_FULL),
        ({"evidence_headers": {"X-LiteLLM-Attempted-Fallbacks": "1"}}, Answer.REROUTED),
        ({"evidence_headers": {"x-litellm-attempted-fallbacks": "0"}}, Answer.SERVED_FULL),
        ({"evidence_headers": {"cf-aig-cache-status": "HIT"}}, Answer.REROUTED),
        ({"evidence_headers": {"cf-aig-cache-status": "MISS"}}, Answer.SERVED_FULL),
        ({"text": " \n", "finish_reason": "length"}, Answer.EMPTY),
        ({"text": "", "finish_reason": "stop"}, Answer.EMPTY),
        ({"text": "", "reasoning": "Let me", "finish_reason": "length"}, Answer.STARVED),
        ({"text": "", "usage": Usage(reasoning_tokens=64)}, Answer.STARVED),
        ({"text": "", "usage": Usage(prompt_tokens=681_274, reasoning_tokens=64)}, Answer.STARVED),
    ],
)
def test_an_answer_under_status_200_is_named_by_what_it_holds(changes: dict[str, object], answer: Answer):
    """Broken frames spoil an answer only when nothing else came; finish reasons and gateway marks count."""
    assert name(**changes) is answer


@pytest.mark.parametrize(
    ("finish", "completion", "thinking", "answer"),
    [
        ("length", 64, True, Answer.STARVED),
        ("length", None, True, Answer.STARVED),
        ("length", 0, True, Answer.EMPTY),
        ("stop", 64, True, Answer.EMPTY),
        ("length", 64, False, Answer.EMPTY),
    ],
)
def test_hidden_reasoning_is_believed_of_thinking_llms_that_used_up_their_output(
    finish: str | None, completion: int | None, *, thinking: bool, answer: Answer
):
    """No text and no reasoning shown: starved only where the LLM is known to think and the budget is gone."""
    usage = Usage(prompt_tokens=OVER, completion_tokens=completion)
    target = a_target(thinking=thinking)
    assert name(target=target, text="", finish_reason=finish, usage=usage) is answer


@pytest.mark.no_coverage
@settings(max_examples=300, derandomize=True, deadline=None)
@given(observations)
def test_every_observation_has_a_name_and_text_alone_makes_it_served(observation: Observation):
    """Total, and SERVED_FULL never comes from an exchange that failed, was refused or carries no text."""
    answer = classify(a_target(), a_probe(), PROMPT, observation)
    if answer is Answer.SERVED_FULL:
        assert observation.failure is None
        assert observation.refusal is None
        assert observation.text.strip() or observation.finish_reason == "tool_calls"
    if answer.is_rejected:
        assert observation.refusal.reason is RefusalReason.LENGTH


BROKEN = a_probe(options=RequestOptions(malformation=Malformation.BROKEN_SCHEMA))
NOT_A_TOKEN = {"text": "", "token_frames": 0}
OTHER = Refusal(reason=RefusalReason.OTHER)
FRAME = Refusal(reason=RefusalReason.OTHER, in_stream=True)


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"status": 400, "refusal": OTHER, **NOT_A_TOKEN}, Answer.REJECTED_OK),
        ({"status": 200, "refusal": OTHER, **NOT_A_TOKEN}, Answer.REJECTED_OK),
        ({"status": 422, **NOT_A_TOKEN}, Answer.REJECTED_OK),
        ({"refusal": FRAME, **NOT_A_TOKEN}, Answer.REJECTED_IN_STREAM),
        ({"refusal": FRAME}, Answer.MALFORMED),
        ({"status": 302, **NOT_A_TOKEN}, Answer.REFUSED_OTHERWISE),
        ({"finish_reason": "content_filter"}, Answer.REFUSED_OTHERWISE),
    ],
)
def test_a_request_broken_on_purpose_is_rejected_by_any_refusal_for_its_form(
    changes: dict[str, object], answer: Answer
):
    """Any 4xx, envelope or frame; of a request in order the same refusals are odd."""
    observation = an_observation(**{"text": "Harbour.", **changes})

    assert classify(a_target(), BROKEN, PROMPT, observation) is answer
    assert classify(a_target(), a_probe(), PROMPT, observation) is Answer.REFUSED_OTHERWISE


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"status": 400, "refusal": Refusal(reason=RefusalReason.LENGTH)}, Answer.REJECTED_OK),
        ({"status": 401, "refusal": Refusal(reason=RefusalReason.AUTH)}, Answer.UNAUTHORISED),
        ({"status": 404}, Answer.NOT_FOUND),
        ({"status": 429, "refusal": Refusal(reason=RefusalReason.RATE)}, Answer.BUSY),
        ({"status": 500, "refusal": Refusal(reason=RefusalReason.SERVER)}, Answer.SERVER_ERROR),
        ({"usage": Usage(prompt_tokens=OVER)}, Answer.SERVED_FULL),
    ],
)
def test_what_says_something_else_says_it_of_a_broken_request_too(changes: dict[str, object], answer: Answer):
    """A credential, a busy server, a failure and an answer are no refusal for the form."""
    observation = an_observation(**{"text": "Harbour.", **changes})

    assert classify(a_target(), BROKEN, PROMPT, observation) is answer
    assert classify(a_target(), a_probe(), PROMPT, observation) is answer
