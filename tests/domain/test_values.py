"""Derived properties of the frozen values."""

import dataclasses
import datetime as dt

import pytest

from prober.domain.answer import Answer
from prober.domain.evidence import Judgement
from prober.domain.finding import Finding, Reason
from prober.domain.observation import Observation, Timeline
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation, Probe, PromptSpec, Role
from prober.domain.prompt import NeedlePosition, Prompt
from prober.domain.reading import Reading, Recall
from prober.domain.target import Target
from prober.domain.tenant import Tenant
from prober.domain.verdict import Spending
from tests.support.evidence import an_evidence

HEAD, MIDDLE, END = NeedlePosition
Positions = tuple[NeedlePosition, ...]


@pytest.mark.parametrize(("pool", "first"), [(681_280, 681_274), (None, 1_048_570), (2_000_000, 1_048_570)])
def test_the_first_rejected_length_is_the_smaller_limit_less_six(pool: int | None, first: int):
    """min(context, pool) - 6 is the first length to be refused (SGLang PR #35421)."""
    target = Target(name="t", model="m", dialect="d", context_tokens=1_048_576, prefill_pool_tokens=pool)

    assert target.first_rejected_tokens == first


@pytest.mark.parametrize(("expectation", "is_over"), [("serve", False), ("reject", True), ("either", True)])
def test_whatever_need_not_be_served_counts_as_over_limit(expectation: str, *, is_over: bool):
    """Probes that might be refused are treated with the care of over-limit ones."""
    probe = Probe(
        label="a/1",
        scenario="a",
        tenant=Tenant(name="a", number=1),
        role=Role.CHECK,
        prompt=PromptSpec(tokens=1),
        expectation=Expectation(expectation),
    )

    assert probe.is_over_limit is is_over


@pytest.mark.parametrize(("lag", "trusted"), [(0.0, True), (0.020, True), (0.0201, False)])
def test_a_late_event_loop_makes_timing_untrusted(lag: float, *, trusted: bool):
    """Above 20 ms of loop lag a timing proves nothing."""
    assert Timeline(loop_lag_seconds=lag).is_trusted is trusted


@pytest.mark.parametrize(
    ("asked", "found", "missed", "end_missed", "all_missed"),
    [
        ((), (), (), False, False),
        ((HEAD, MIDDLE, END), (END,), (HEAD, MIDDLE), False, False),
        ((HEAD, END), (HEAD,), (END,), True, False),
        ((END,), (), (END,), True, True),
    ],
)
def test_recall_tells_what_is_missing(
    asked: Positions, found: Positions, missed: Positions, *, end_missed: bool, all_missed: bool
):
    """Missed needles are those asked for and not found; nothing asked is nothing missed."""
    recall = Recall(asked=asked, found=found)

    assert (recall.missed, recall.is_end_missed, recall.is_all_missed) == (missed, end_missed, all_missed)


@pytest.mark.parametrize(("words", "novel", "novelty"), [(0, 0, 0.0), (10, 5, 0.5)])
def test_novelty_is_a_share_of_the_words(words: int, novel: int, novelty: float):
    """An empty answer has no novelty."""
    assert Reading(characters=0, words=words, sha256="", novel_words=novel).novelty == novelty


def test_answers_fall_into_served_rejected_and_neither():
    """No answer is both served and rejected."""
    assert not [answer for answer in Answer if answer.is_served and answer.is_rejected]
    assert Answer.SERVED_FULL.is_served
    assert Answer.REJECTED_IN_STREAM.is_rejected


def test_a_judgement_without_findings_is_inconclusive():
    """A probe about which no detector said anything was not judged."""
    assert Judgement(evidence=an_evidence(), findings=()).outcome is Outcome.INCONCLUSIVE


def test_a_violation_is_confirmed_only_when_a_finding_says_so():
    """Confirmation belongs to the finding, and only violations count."""
    suspect = Finding(detector="d", outcome=Outcome.SUSPECT, reason=Reason.FOREIGN_TEXT, message="m", is_confirmed=True)
    violation = dataclasses.replace(suspect, outcome=Outcome.VIOLATION)

    assert not Judgement(evidence=an_evidence(), findings=(suspect,)).is_confirmed_violation
    assert Judgement(evidence=an_evidence(), findings=(suspect, violation)).is_confirmed_violation


def test_spendings_add_up_field_by_field():
    """Tokens are prompt and answer together."""
    total = Spending(requests=1, prompt_tokens=2, output_tokens=3) + Spending(requests=4, prompt_tokens=5)

    assert total == Spending(requests=5, prompt_tokens=7, output_tokens=3)
    assert total.tokens == 10


def test_text_never_shows_in_a_repr():
    """Prompts are large and answers may be other people's: neither may reach a log by way of repr."""
    observation = Observation(
        sent_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC), text="FOREIGN-SECRET", reasoning="FOREIGN-SECRET"
    )
    prompt: Prompt = dataclasses.replace(an_evidence().prompt, text="OWN-LONG-TEXT")

    assert "FOREIGN-SECRET" not in repr(observation)
    assert "OWN-LONG-TEXT" not in repr(prompt)


def test_an_observation_without_text_holds_no_word_of_the_peer():
    """Whatever goes past the reading is free of answers, reasoning and error bodies alike, and none is ever shown."""
    words = {"text": "red fox", "reasoning": "blue cat", "other_text": "grey owl"}
    observation = Observation(sent_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC), **words)
    bare = observation.without_text()
    assert [getattr(bare, name) for name in words] == ["", "", ""]
    assert bare.reasoning_characters == len("blue cat")
    assert not any(word in repr(observation) for word in words.values())
