"""The limit sweep."""

import dataclasses

import pytest

from prober.domain.answer import Answer
from prober.domain.canary import Canary
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Role
from prober.domain.target import Target
from prober.domain.verdict import LimitMap
from prober.plan.limits import limit_map
from prober.plan.scenarios.limit_sweep import limit_sweep
from prober.prompt.tokens import Calibration
from tests.support.scripted import (
    CONTEXT,
    FIRST_REJECTED,
    LEAK,
    REJECTED,
    Count,
    Played,
    Reply,
    Respond,
    failing,
    incident,
    inexact_calibration,
    noisy,
    play,
    sent_size,
    serving_below,
    stage_of,
    target_of,
)

UNKNOWN = target_of(prefill_pool_tokens=None, decode_pool_tokens=None)
MISSED = Reply(outcome=Outcome.INCONCLUSIVE, reason=Reason.RECALL_MISSED, is_end_found=False)


def sweep(
    target: Target,
    respond: Respond,
    *,
    count: Count = sent_size,
    calibration: Calibration | None = None,
    tolerance: int = 2,
    **settings: object,
):
    stage = stage_of(target, calibration=calibration, **settings)
    return play(limit_sweep(stage), target, respond, count=count, tolerance=tolerance)


def swept(played: Played):
    return played.of(Role.CHECK, Role.CONFIRMATION)


@pytest.mark.parametrize("target", [target_of(), UNKNOWN])
def test_the_incident_is_found_to_the_token(target: Target):
    """Known pool or not, the first wrong length is 681,274 and the last sound one 681,273, in fewer than 48 probes."""
    played = sweep(target, incident)
    assert limit_map(played.judgements) == LimitMap(
        largest_served=681_273, smallest_rejected=CONTEXT, first_wrong=681_274
    )
    assert len(swept(played)) < 48


def test_the_incident_is_found_to_the_token_by_inexact_counting():
    """A tokenizer of uneven words costs rewrites, not precision."""
    played = sweep(target_of(), incident, count=noisy(900), calibration=inexact_calibration(), tolerance=4_000)
    limits = limit_map(played.judgements)
    assert (limits.largest_served, limits.first_wrong) == (681_273, 681_274)
    assert len(swept(played)) <= 48


@pytest.mark.parametrize("limit", [300_001, 500_000, FIRST_REJECTED, CONTEXT - 6, CONTEXT])
def test_a_healthy_limit_is_found_to_the_token(limit: int):
    """A pool nobody told us, or an engine without reserved tokens, is measured exactly."""
    limits = limit_map(sweep(UNKNOWN, serving_below(limit)).judgements)
    assert limits == LimitMap(largest_served=limit - 1, smallest_rejected=limit)


def test_an_engine_that_refuses_at_its_context_is_found_by_inexact_counting():
    """With n >= n_ctx refused (llama.cpp) and words of one to three tokens, the edge is still met to the token."""
    target = dataclasses.replace(UNKNOWN, context_tokens=32_768)
    played = sweep(target, serving_below(32_768), count=noisy(30), calibration=inexact_calibration(), tolerance=1_500)
    assert limit_map(played.judgements) == LimitMap(largest_served=32_767, smallest_rejected=32_768)


def test_limits_stated_by_refusals_are_probed():
    """A refusal that names the limit saves the bisection."""
    refusal = dataclasses.replace(REJECTED, stated_limits=(500_000,))
    played = sweep(UNKNOWN, serving_below(500_000, refusal), sweep_bisect=False)
    assert limit_map(played.judgements) == LimitMap(largest_served=499_999, smallest_rejected=500_000)


def test_bisection_can_be_switched_off():
    """Without it only the points are probed."""
    limits = limit_map(sweep(UNKNOWN, serving_below(500_000), sweep_bisect=False).judgements)
    assert limits.smallest_rejected - limits.largest_served > 1


@pytest.mark.parametrize("bound", [1, 2, 5])
def test_the_probe_bound_holds(bound: int):
    """Points, rewrites, second tries and re-probes together never pass the setting."""
    for respond in (incident, lambda *_: MISSED, serving_below(FIRST_REJECTED)):
        played = sweep(UNKNOWN, respond, count=noisy(9), calibration=inexact_calibration(), sweep_max_probes=bound)
        assert len(swept(played)) <= bound


def test_a_hanging_window_is_left_alone():
    """Refusals that hang for minutes end the sweep with what was learned below them."""
    played = sweep(target_of(), serving_below(FIRST_REJECTED, failing(Answer.HANG)))
    assert limit_map(played.judgements) == LimitMap(largest_served=681_273)
    assert len(swept(played)) == 4


def test_a_busy_answer_is_tried_once_more():
    """One failure does not cost a length."""
    seen: list[int] = []

    def respond(probe: Probe, tokens: int) -> Reply:
        seen.append(tokens)
        return failing(Answer.BUSY) if seen.count(tokens) == 1 and probe.role is Role.CHECK else Reply()

    played = sweep(target_of(), respond, sweep_max_probes=4, seed_tokens=0)
    assert [probe.prompt.tokens for probe in played.probes] == [681_273, 681_273, 681_274, 681_274]


def test_lengths_beyond_a_proxys_byte_limit_are_skipped():
    """Once a proxy refuses the bytes, neither the same nor a longer length is sent again."""
    played = sweep(UNKNOWN, serving_below(400_000, failing(Answer.TOO_MANY_BYTES)))
    blocked = [j.evidence.probe.prompt.tokens for j in swept(played) if j.evidence.answer is Answer.TOO_MANY_BYTES]
    assert blocked == sorted(blocked, reverse=True)
    assert len(blocked) == len(set(blocked))
    assert limit_map(played.judgements).smallest_rejected is None


def test_missing_needles_twice_count_as_beyond():
    """Answers that lose their end above some length are bracketed like a limit, though no limit is reported."""

    def respond(probe: Probe, tokens: int) -> Reply:
        return (
            serving_below(CONTEXT)(probe, tokens)
            if tokens >= CONTEXT
            else serving_below(700_000, MISSED)(probe, tokens)
        )

    played = sweep(UNKNOWN, respond, sweep_max_probes=120)
    limits = limit_map(played.judgements)
    assert (limits.smallest_rejected, limits.first_wrong) == (CONTEXT, None)
    assert {699_999, 700_000} <= {j.evidence.probe.prompt.tokens for j in swept(played)}


def test_a_single_forgotten_needle_moves_nothing():
    """An honest LLM that forgets once is asked again."""
    forgotten = iter([True])

    def respond(_probe: Probe, tokens: int) -> Reply:
        return MISSED if tokens == 681_273 and next(forgotten, False) else serving_below(FIRST_REJECTED)(_probe, tokens)

    limits = limit_map(sweep(target_of(), respond).judgements)
    assert (limits.largest_served, limits.smallest_rejected) == (681_273, FIRST_REJECTED)


def test_a_limit_below_every_donor_is_found_too():
    """Where no length was sound yet, the search starts from what calibration was served."""
    played = sweep(UNKNOWN, serving_below(5_001), donor_tokens=100_000)
    assert limit_map(played.judgements) == LimitMap(largest_served=5_000, smallest_rejected=5_001)


def test_a_target_that_refuses_everything_ends_the_search_at_the_smallest_prompt():
    """There is nothing below the smallest prompt that can be composed."""
    played = sweep(target_of(context_tokens=200, prefill_pool_tokens=200), lambda *_: REJECTED)
    assert len(swept(played)) < 48


def test_a_target_that_serves_everything_is_not_bisected():
    """Without a length beyond there is no bracket."""
    with_bisection, without = (sweep(UNKNOWN, serving_everything, sweep_bisect=bisect) for bisect in (True, False))
    assert len(swept(with_bisection)) == len(swept(without))


def serving_everything(probe: Probe, tokens: int):
    """Truncate what does not fit, as an operator may have chosen."""
    return Reply() if tokens < CONTEXT else failing(Answer.TRUNCATED)


def test_a_search_that_gains_nothing_ends():
    """Counts that never land inside the bracket do not keep the sweep going."""

    def count(probe: Probe, _canary: Canary) -> int:
        tokens = probe.prompt.tokens
        return tokens if tokens >= 700_000 or tokens < 300_000 else round(tokens, -5)

    played = sweep(UNKNOWN, serving_below(450_000), count=count, tolerance=60_000, sweep_max_probes=200)
    assert len(swept(played)) < 60


def test_seeding_comes_first_and_once():
    """Donors precede every probe of the sweep, and can be switched off."""
    roles = [probe.role for probe in sweep(target_of(), incident).probes]
    assert roles.index(Role.CHECK) == roles.count(Role.DONOR) > 0
    assert sweep(target_of(), incident, seed_tokens=0).of(Role.DONOR) == []


def test_a_shared_target_stops_at_the_first_leak():
    """One below the limit, one at it, and no more."""
    target = target_of(shared=True)
    played = sweep(target, serving_below(FIRST_REJECTED, LEAK))
    assert [j.evidence.probe.prompt.tokens for j in swept(played)] == [681_273, 681_274]


@pytest.mark.parametrize(("bound", "is_said"), [(1, True), (2, False), (48, False)])
def test_a_sweep_cut_before_the_limit_says_so(bound: int, *, is_said: bool):
    """One probe reaches the last length that fits, the second the first that does not: only then was a limit tried."""
    played = sweep(target_of(), serving_below(FIRST_REJECTED), sweep_max_probes=bound)
    assert ["sweep_max_probes" in message for message in played.returned] == [True] * is_said


def test_a_sweep_that_finds_no_limit_within_its_points_is_whole():
    """A target that serves all of its points, as one without any limit would, was not cut."""
    assert sweep(target_of(), lambda *_: Reply(), sweep_bisect=False, sweep_max_probes=500).returned == ()
