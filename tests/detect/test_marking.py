"""What stays of a judged probe."""

import dataclasses

import pytest
from hypothesis import given, settings

from prober.detect.marking import mark_evidence, mark_of
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.finding import Reason
from prober.domain.observation import Timeline, Usage
from prober.domain.options import Arm, RequestOptions, Trial
from prober.domain.outcome import Outcome
from prober.domain.probe import Role
from tests.support.evidence import (
    ALL_MISSED,
    END_MISSED,
    a_finding,
    a_judgement,
    a_probe,
    a_prompt,
    a_reading,
    an_evidence,
    an_observation,
    evidences,
)


def test_a_mark_holds_what_comparisons_ask_for():
    """Each figure is the evidence's own."""
    trial = Trial(series="s", number=3, arm=Arm.CHECK)
    evidence = an_evidence(
        probe=a_probe(label="a/7", role=Role.CHECK, options=RequestOptions(session="x"), trial=trial),
        prompt=a_prompt(text_sha256="t9"),
        reading=a_reading(sha256="b" * 64, signature=(1, 2), words=12),
        observation=an_observation(
            response_id="id-7",
            system_fingerprint="fp",
            model_reported="m",
            usage=Usage(prompt_tokens=300_000, cached_tokens=64),
        ),
    )

    mark = mark_of(a_judgement(evidence, a_finding(Reason.SERVED, Outcome.SUSPECT)))

    assert (mark.label, mark.trial, mark.options, mark.text_sha256) == ("a/7", trial, evidence.probe.options, "t9")
    assert (mark.sha256, mark.signature, mark.words) == ("b" * 64, (1, 2), 12)
    assert (mark.response_id, mark.system_fingerprint, mark.model_reported) == ("id-7", "fp", "m")
    assert (mark.cached_tokens, mark.prompt_tokens) == (64, 300_000)
    assert (mark.first_token_seconds, mark.end_seconds) == (30.0, 31.0)
    assert (mark.outcome, mark.is_recall_missed, mark.is_garbled) == (Outcome.SUSPECT, False, False)


@pytest.mark.parametrize(
    ("timeline", "is_stream", "first_token", "end"),
    [
        (Timeline(first_token=1.0, end=2.0, loop_lag_seconds=0.1), True, None, None),
        (Timeline(first_token=1.0, end=2.0), False, None, 2.0),
    ],
)
def test_untrusted_timings_are_left_out(
    timeline: Timeline, first_token: float | None, end: float | None, *, is_stream: bool
):
    """A late event loop makes all times worthless; without a stream there is no first token."""
    mark = mark_evidence(an_evidence(observation=an_observation(timeline=timeline, is_stream=is_stream)), Outcome.CLEAN)

    assert (mark.first_token_seconds, mark.end_seconds) == (first_token, end)


@pytest.mark.parametrize(
    ("parts", "is_missed"),
    [
        ({"reading": a_reading(recall=END_MISSED)}, True),
        ({"reading": a_reading(recall=ALL_MISSED, is_refusal_like=True)}, True),
        ({"reading": a_reading(recall=ALL_MISSED), "answer": Answer.TRUNCATED}, None),
        ({"reading": a_reading(recall=ALL_MISSED), "probe": a_probe(options=RequestOptions(choices=("a",)))}, None),
    ],
)
def test_recall_is_noted_of_fair_trials_only(parts: dict[str, object], *, is_missed: bool | None):
    """For comparisons a refusal is a miss, on both sides alike."""
    assert mark_evidence(an_evidence(**parts), Outcome.CLEAN).is_recall_missed is is_missed


@pytest.mark.no_coverage
@settings(max_examples=100, derandomize=True, deadline=None)
@given(evidence=evidences())
def test_a_mark_holds_no_text(evidence: Evidence):
    """Whatever came back, nothing of it but hashes, figures and the server's own labels stays."""
    marked = dataclasses.replace(evidence, observation=dataclasses.replace(evidence.observation, text="Secret words."))

    assert "Secret" not in repr(mark_evidence(marked, Outcome.CLEAN))
