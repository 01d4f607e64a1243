"""Expectations, counts, soundness and the limit map."""

import dataclasses

import pytest

from prober.domain.answer import Answer
from prober.domain.finding import Reason
from prober.domain.options import Malformation, RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation, Probe, PromptSpec, Role
from prober.domain.verdict import LimitMap
from prober.plan.limits import (
    Soundness,
    counted_tokens,
    expectation,
    is_hit,
    limit_map,
    reported_tokens,
    soundness,
)
from tests.support.scripted import (
    CONTEXT,
    FIRST_REJECTED,
    LEAK,
    POOL,
    REFUSED,
    REJECTED,
    TOO_FAST,
    Reply,
    failing,
    judge,
    target_of,
    tenants_of,
)

SERVE, REJECT, EITHER = Expectation.SERVE, Expectation.REJECT, Expectation.EITHER


def judged(
    tokens: int, reply: Reply, *, counted: int | None = None, expected: Expectation = SERVE, planned: bool = True
):
    probe = Probe(
        label="x/0001",
        scenario="x",
        tenant=tenants_of(1)[0],
        role=Role.CHECK,
        prompt=PromptSpec(tokens=tokens) if planned else PromptSpec(filler_lines=4),
        expectation=expected,
    )
    return judge(target_of(), probe, tokens if counted is None else counted, reply)


@pytest.mark.parametrize(
    ("pool", "tokens", "output", "expected"),
    [
        (POOL, FIRST_REJECTED - 1, 64, SERVE),
        (POOL, FIRST_REJECTED, 64, REJECT),
        (POOL, CONTEXT + 1, 64, REJECT),
        (2 * CONTEXT, CONTEXT - 7, 7, SERVE),
        (2 * CONTEXT, CONTEXT - 7, 64, EITHER),
        (2 * CONTEXT, CONTEXT - 6, 1, REJECT),
        (None, 262_142, 64, SERVE),
        (None, 262_143, 64, EITHER),
        (None, CONTEXT - 6, 1, EITHER),
        (None, CONTEXT - 1, 1, EITHER),
        (None, CONTEXT, 1, REJECT),
    ],
)
def test_expectation_follows_the_known_limits(pool: int | None, tokens: int, output: int, expected: Expectation):
    """A length is to be served, refused, or either, by what is known of context and pool."""
    target = target_of(prefill_pool_tokens=pool)
    assert expectation(target, tokens, output, verified_tokens=262_142) is expected


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [(680_000, SERVE), (681_000, EITHER), (681_700, EITHER), (682_000, REJECT)],
)
def test_expectation_admits_what_it_cannot_know(tokens: int, expected: Expectation):
    """A length known within a slack is only expected to be served or refused where both ends of the slack are."""
    assert expectation(target_of(), tokens, 64, verified_tokens=0, slack_tokens=500) is expected


@pytest.mark.parametrize(
    ("reply", "counted", "expected"),
    [
        (Reply(), 100_001, 100_001),
        (Reply(), 98_001, 98_001),
        (Reply(), 97_999, None),
        (Reply(answer=Answer.TRUNCATED), 50_000, None),
        (Reply(prompt_tokens=1), 100_000, None),
        (Reply(is_counted=False), 100_000, None),
        (REJECTED, 100_002, 100_002),
        (failing(Answer.HANG), 100_000, None),
    ],
)
def test_reported_tokens_believes_plausible_counts_only(reply: Reply, counted: int | None, expected: int | None):
    """A count of a stub, of a truncation, or no count at all is not the prompt's length."""
    judgement = judged(100_000, reply, counted=counted)
    assert reported_tokens(judgement) == expected
    assert counted_tokens(judgement) == (100_000 if expected is None else expected)


def test_reported_tokens_of_an_unplanned_prompt_is_what_the_server_says():
    """While calibrating there is no plan to compare with."""
    assert reported_tokens(judged(0, Reply(), counted=321, planned=False)) == 321
    assert counted_tokens(judged(0, failing(Answer.BUSY), planned=False)) is None


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (LEAK, True),
        (TOO_FAST, True),
        (Reply(outcome=Outcome.VIOLATION, reason=Reason.USAGE_MISMATCH), True),
        (Reply(outcome=Outcome.SUSPECT, reason=Reason.USAGE_MISMATCH), False),
        (Reply(outcome=Outcome.INCONCLUSIVE, reason=Reason.PREFILL_TOO_FAST), False),
        (Reply(), False),
    ],
)
def test_hits_are_violations_and_leak_like_suspicions(reply: Reply, *, expected: bool):
    """Odd usage alone is no sign of a leak; any violation is."""
    assert is_hit(judged(1_000, reply)) is expected


@pytest.mark.parametrize(
    ("tokens", "reply", "expected", "kind"),
    [
        (1_000, Reply(), SERVE, Soundness.SOUND),
        (1_000, REJECTED, SERVE, Soundness.REJECTED),
        (1_000, Reply(answer=Answer.REJECTED_IN_STREAM), REJECT, Soundness.REJECTED),
        (1_000, failing(Answer.SERVER_ERROR), SERVE, Soundness.UNJUDGED),
        (1_000, failing(Answer.STARVED), SERVE, Soundness.UNJUDGED),
        (1_000, failing(Answer.STARVED), REJECT, Soundness.UNJUDGED),
        (1_000, LEAK, SERVE, Soundness.WRONG),
        (1_000, TOO_FAST, EITHER, Soundness.WRONG),
        (700_000, Reply(), REJECT, Soundness.WRONG),
        (1_000, Reply(is_end_found=False), EITHER, Soundness.DOUBTFUL),
        (CONTEXT - 64, Reply(is_end_found=False), EITHER, Soundness.DOUBTFUL),
        (CONTEXT - 63, Reply(is_end_found=False), EITHER, Soundness.SOUND),
    ],
)
def test_soundness_of_one_answer(tokens: int, reply: Reply, expected: Expectation, kind: Soundness):
    """Sound, rejected, wrong, doubtful and unjudged are told apart; a missing needle counts where it had room."""
    assert soundness(judged(tokens, reply, expected=expected)) is kind


def test_limit_map_folds_the_extremes():
    """Largest sound, smallest rejected and smallest wrong length are found in any order; failures count for nothing."""
    judgements = [
        judged(900, Reply()),
        judged(1_200, LEAK),
        judged(1_100, LEAK),
        judged(1_000, Reply()),
        judged(2_000, REJECTED),
        judged(3_000, REJECTED),
        judged(1_050, failing(Answer.HANG)),
        judged(0, failing(Answer.BUSY), planned=False),
    ]
    assert limit_map(judgements) == LimitMap(largest_served=1_000, smallest_rejected=2_000, first_wrong=1_100)
    assert limit_map(judgements[::-1]) == limit_map(judgements)


def test_limit_map_believes_nothing_sound_beyond_the_first_wrong_length():
    """An answer that merely looks sound beyond a wrong one does not raise the largest served length."""
    assert limit_map([judged(5_000, Reply()), judged(1_000, LEAK)]) == LimitMap(first_wrong=1_000)


def test_limit_map_of_nothing_is_empty():
    """No judgement, no limits."""
    assert limit_map([]) == LimitMap()


@pytest.mark.parametrize(
    "reply", [Reply(), REJECTED, REFUSED, Reply(outcome=Outcome.VIOLATION, reason=Reason.SERVED_INVALID)]
)
def test_a_request_broken_on_purpose_says_nothing_about_lengths(reply: Reply):
    """Neither its refusal nor its answer moves a limit."""
    judgement = judged(2_000, reply, expected=REJECT)
    broken = dataclasses.replace(
        judgement.evidence.probe, options=RequestOptions(malformation=Malformation.NEGATIVE_MAX_TOKENS)
    )
    evidence = dataclasses.replace(judgement.evidence, probe=broken)
    broken_judgement = dataclasses.replace(judgement, evidence=evidence)
    assert soundness(broken_judgement) is Soundness.UNJUDGED
    assert limit_map([broken_judgement]) == LimitMap()


@pytest.mark.parametrize(
    "reason",
    [
        Reason.NEAR_DUPLICATE_ANSWER,
        Reason.REPLAY_DIVERGED,
        Reason.GARBLED,
        Reason.VOCABULARY_COLLAPSED,
        Reason.STREAM_BROKEN,
        Reason.SERVED_INVALID,
    ],
)
def test_signs_of_another_requests_state_are_hits_too(reason: Reason):
    """Not canaries alone: a suspicion that the answer was made of something else deserves its re-probe."""
    assert is_hit(judged(2_000, Reply(outcome=Outcome.SUSPECT, reason=reason)))
