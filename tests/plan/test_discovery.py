"""The search for an unknown limit: hints, noise, and the classes of answers that must stay apart."""

import dataclasses
import random
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.answer import Answer
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Role
from prober.domain.target import Target
from prober.domain.verdict import LimitMap
from prober.plan.anchoring import anchor
from prober.plan.course import Course
from prober.plan.discovery import MAX_PROBES, MAX_SKIPPED, TRIES, Class, Discovery, Steps, classify
from prober.plan.limits import limit_map
from prober.prompt.tokens import Calibration
from tests.support.scripted import (
    CONTEXT,
    LEAK,
    REJECTED,
    Count,
    Played,
    Reply,
    Respond,
    failing,
    incident,
    inexact_calibration,
    judge,
    noisy,
    play,
    sent_size,
    serving_below,
    stage_of,
    target_of,
)

UNKNOWN = target_of(prefill_pool_tokens=None, decode_pool_tokens=None)
PAGE = UNKNOWN.page_tokens
MISSED = Reply(outcome=Outcome.INCONCLUSIVE, reason=Reason.RECALL_MISSED, is_end_found=False)
EMPTY = Reply(answer=Answer.EMPTY, outcome=Outcome.INCONCLUSIVE, reason=Reason.EMPTY_ANSWER)
CUT = Reply(answer=Answer.TRUNCATED, outcome=Outcome.SUSPECT, reason=Reason.TRUNCATED)


def search(
    respond: Respond,
    target: Target = UNKNOWN,
    *,
    count: Count = sent_size,
    calibration: Calibration | None = None,
    tolerance: int = 2,
) -> tuple[Discovery, Played]:
    discovery = Discovery(Course("discover", stage_of(target, calibration=calibration)))
    return discovery, play(discovery.play(), target, respond, count=count, tolerance=tolerance)


def asked(played: Played) -> int:
    """Probes of the search itself."""
    return len(played.of(Role.CHECK, Role.CONFIRMATION))


def stating(limit: int, *stated: int) -> Respond:
    """Serves prompts shorter than a limit, and names limits in its refusals."""
    return serving_below(limit, dataclasses.replace(REJECTED, stated_limits=stated))


def bracketed(played: Played) -> int:
    limits = limit_map(played.judgements)
    assert limits.largest_served is not None
    assert limits.smallest_rejected is not None
    return limits.smallest_rejected - limits.largest_served


@pytest.mark.parametrize("limit", [262_144, 500_001, 999_000])
def test_a_target_that_states_its_limit_takes_three_probes(limit: int):
    """Just above the context, at the stated limit, and one page above it."""
    discovery, played = search(stating(limit + 1, limit))
    assert asked(played) == 3
    assert bracketed(played) == PAGE
    assert limit_map(played.judgements).largest_served == limit
    assert discovery.shortfall() == ()


@pytest.mark.parametrize("held_back", [6, 64, 70])
@pytest.mark.parametrize("stated", [400_000, CONTEXT])
def test_tokens_held_back_for_answer_or_admission_cost_two_more(stated: int, held_back: int):
    """What a target states may count the answer, or tokens that it keeps for itself."""
    discovery, played = search(stating(stated - held_back, stated))
    assert asked(played) <= 5
    assert 0 < bracketed(played) <= PAGE
    assert discovery.is_settled
    assert discovery.shortfall() == ()


def test_of_several_stated_limits_the_one_in_force_is_found():
    """Context and pool are both named; the smaller one decides, and nonsense beyond twice the context is left out."""
    _, played = search(stating(681_274, 681_280, CONTEXT, 9_999_999))
    assert asked(played) <= 5
    assert limit_map(played.judgements).largest_served in range(681_274 - PAGE, 681_274)


@pytest.mark.parametrize("stated", [(5,), (700_000,), (2_000_000,), ()])
def test_a_hint_that_is_wrong_or_missing_costs_a_search(stated: tuple[int, ...]):
    """The limit is found to one page all the same."""
    discovery, played = search(stating(500_123, *stated))
    assert bracketed(played) <= 2 * PAGE
    assert discovery.is_settled
    assert asked(played) <= 30


@pytest.mark.no_coverage
@settings(max_examples=25, derandomize=True, deadline=None)
@given(st.integers(270_000, CONTEXT - 200))
def test_any_silent_limit_is_found_to_one_page(limit: int):
    """The true limit lies in the 99 % interval, which spans one page."""
    discovery, _ = search(serving_below(limit))
    assert discovery.search is not None
    low, high = discovery.search.interval()
    assert high - low <= PAGE
    assert low - PAGE <= limit - 1 <= high + PAGE


def forgetful(limit: int, rate: float, seed: int) -> Respond:
    """Misses the decisive needle at a rate in prompts that fit, and refuses the others."""
    rng = random.Random(seed)

    def respond(probe: Probe, tokens: int) -> Reply:
        is_forgotten = probe.role is Role.CHECK and rng.random() < rate
        return REJECTED if tokens >= limit else MISSED if is_forgotten else Reply()

    return respond


@pytest.mark.no_coverage
def test_an_llm_that_forgets_in_one_of_twenty_answers_does_not_mislead():
    """At 5 % noise the limit is found to one page in a mean of at most 22 probes, and covered nearly always."""
    limits = random.Random(7).sample(range(270_000, CONTEXT - 200), 40)
    runs = [(limit, *search(forgetful(limit, 0.05, limit))) for limit in limits]
    covered = 0
    for limit, discovery, _ in runs:
        assert discovery.search is not None
        low, high = discovery.search.interval()
        covered += low - PAGE <= limit - 1 <= high + PAGE
    assert covered >= 39
    assert statistics.fmean(asked(played) for *_, played in runs) <= 22


def test_the_incident_is_found_to_one_page():
    """Where nobody else is on the target, the first wrong length and the last sound one are a page apart."""
    discovery, played = search(incident)
    limits = limit_map(played.judgements)
    assert limits.smallest_rejected == CONTEXT + 1
    assert (limits.largest_served or 0) in range(681_274 - 2 * PAGE, 681_274)
    assert (limits.first_wrong or 0) in range(681_274, 681_274 + 2 * PAGE)
    assert discovery.shortfall() == ()


def test_a_shared_target_is_left_alone_at_the_first_wrong_answer():
    """One confirmed violation is enough: the search is not worth harvesting other people's text."""
    target = dataclasses.replace(UNKNOWN, shared=True)
    discovery, played = search(incident, target)
    leaks = [judgement.is_confirmed_violation for judgement in played.judgements]
    assert leaks.index(True) == len(leaks) - 1
    assert limit_map(played.judgements).first_wrong is not None
    assert discovery.shortfall() == ()


def test_the_last_anchors_come_before_the_search_only():
    """Timed prefills cost as much as the search: a target that states its limit is spared them."""
    assert not search(stating(500_001, 500_000))[1].of(Role.ANCHOR)
    assert search(serving_below(500_000))[1].of(Role.ANCHOR)


def test_anchors_of_the_run_so_far_are_used():
    """Timings stand in the history: a target of whom they are known is not timed again."""
    course = Course("discover", stage_of(UNKNOWN))

    def after_anchoring() -> Steps:
        yield from anchor(course)
        yield from Discovery(course).play()

    played = play(after_anchoring(), UNKNOWN, serving_below(500_000))
    assert len(played.of(Role.ANCHOR)) == course.stage.settings.anchor_probes


def test_a_silent_cut_is_a_limit():
    """A target that truncates has its limit where it starts to."""
    discovery, played = search(serving_below(500_000, CUT))
    assert (limit_map(played.judgements).largest_served or 0) in range(500_000 - 2 * PAGE, 500_000)
    assert discovery.is_settled


def test_a_body_limit_is_told_from_a_token_limit():
    """What a proxy refuses for its bytes says nothing about tokens, and the run says so."""
    barred = failing(Answer.TOO_MANY_BYTES)
    discovery, _ = search(serving_below(500_000, barred))
    (sentence,) = discovery.shortfall()
    assert "some proxy found too many bytes" in sentence


def test_lengths_that_fail_are_tried_again_then_skipped():
    """A 5xx or a time-out is no answer: the length's neighbour is asked, and the limit found."""
    failed: list[int] = []

    def respond(probe: Probe, tokens: int) -> Reply:
        if tokens in failed or (not failed and 600_000 < tokens < 700_000):
            failed.append(tokens)
            return failing(Answer.SERVER_ERROR)
        return serving_below(500_000)(probe, tokens)

    discovery, played = search(respond)
    assert len(failed) == TRIES
    assert len(set(failed)) == 1
    assert discovery.is_settled
    assert bracketed(played) <= 2 * PAGE


def test_a_target_that_cannot_be_judged_ends_the_search():
    """Answers without content say nothing: after a few lengths the run tells what is known, and is not clean."""

    def respond(probe: Probe, tokens: int) -> Reply:
        return Reply() if tokens < 300_000 else EMPTY

    discovery, played = search(respond)
    assert asked(played) == MAX_SKIPPED * TRIES
    (sentence,) = discovery.shortfall()
    assert "not known to one page" in sentence


def test_a_target_that_never_answers_has_no_limit():
    """Nothing was learned, and that is said."""
    discovery, _ = search(lambda *_: failing(Answer.HANG))
    assert discovery.shortfall() == ("No length limit was found: too few answers could be judged.",)


def test_answers_without_any_order_end_at_the_cap():
    """A target that tosses a coin is not searched for ever."""
    rng = random.Random(5)
    discovery, played = search(lambda *_: Reply() if rng.random() < 0.5 else MISSED)
    assert asked(played) <= MAX_PROBES
    assert discovery.shortfall() == () or "not known to one page" in discovery.shortfall()[0]


def test_a_target_that_refuses_everything_is_not_searched():
    """Refused from the smallest prompt on: there is no room for a limit, and that is said."""
    target = dataclasses.replace(UNKNOWN, context_tokens=1_024)
    discovery, played = search(lambda *_: REJECTED, target)
    assert discovery.search is None
    assert asked(played) == 1
    assert discovery.shortfall() == ("No length limit was found: too few answers could be judged.",)


def test_a_stated_limit_that_cannot_be_judged_is_left_to_the_search():
    """A hint whose length brings nothing back is no hint."""

    def respond(probe: Probe, tokens: int) -> Reply:
        return EMPTY if tokens == 500_000 else stating(600_000, 500_000)(probe, tokens)

    discovery, played = search(respond)
    assert discovery.is_settled
    assert bracketed(played) <= 2 * PAGE


def test_nothing_is_asked_after_a_leak_at_a_stated_limit():
    """Also where the next hint is already known."""

    def respond(probe: Probe, tokens: int) -> Reply:
        return LEAK if tokens == 500_000 else stating(CONTEXT, 500_000)(probe, tokens)

    _, played = search(respond, dataclasses.replace(UNKNOWN, shared=True))
    assert [probe.prompt.tokens for probe in played.probes][-1] == 500_000


def test_an_uneven_tokenizer_costs_rewrites_not_the_limit():
    """Lengths are folded as the server counted them."""
    discovery, played = search(
        serving_below(681_274), count=noisy(900), calibration=inexact_calibration(), tolerance=4_000
    )
    assert discovery.search is not None
    low, high = discovery.search.interval()
    assert low - 2 * PAGE <= 681_273 <= high + 2 * PAGE
    assert len(played.probes) < 120


def test_one_forgotten_needle_does_not_cost_a_hint():
    """The stated limit is asked again: 20 probes of a search are saved by one."""
    forgotten: list[int] = []

    def respond(probe: Probe, tokens: int) -> Reply:
        if tokens in range(399_000, 400_000) and not forgotten:
            forgotten.append(tokens)
            return MISSED
        return stating(400_000, 400_000)(probe, tokens)

    discovery, played = search(respond)
    assert forgotten
    assert asked(played) <= 6
    assert discovery.search is None
    assert bracketed(played) <= PAGE
    assert discovery.shortfall() == ()


def test_a_needle_missed_inside_a_hinted_bracket_is_settled_by_the_search():
    """A hint is believed only while no answer speaks against it."""

    def respond(probe: Probe, tokens: int) -> Reply:
        if 499_900 < tokens < 500_000:
            return MISSED
        return stating(500_000, 500_000)(probe, tokens)

    discovery, _ = search(respond)
    assert discovery.search is not None


def test_an_answer_that_narrows_nothing_ends_the_bisection():
    """Within a hinted bracket too, a length that cannot be judged is skipped."""

    def respond(probe: Probe, tokens: int) -> Reply:
        if 399_880 < tokens < 400_000 and tokens != 400_000 - 134:
            return EMPTY
        return stating(400_000, 400_000)(probe, tokens)

    discovery, played = search(respond)
    assert discovery.search is not None
    assert asked(played) <= MAX_PROBES


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(), Class.SOUND),
        (REJECTED, Class.REFUSED),
        (LEAK, Class.WRONG),
        (MISSED, Class.DOUBTFUL),
        (CUT, Class.REFUSED),
        (failing(Answer.TOO_MANY_BYTES), Class.BARRED),
        (failing(Answer.SERVER_ERROR), Class.UNJUDGED),
        (failing(Answer.HANG), Class.UNJUDGED),
    ],
)
def test_classes_are_kept_apart(reply: Reply, kind: Class):
    """Refused, sound, wrong and failed are different things, whatever the search makes of them."""
    course = Course("discover", stage_of(UNKNOWN))
    probe = course.draft(Role.CHECK, course.checker(0), 300_000)
    assert classify(judge(UNKNOWN, probe, 300_000, reply)) is kind


def test_the_map_of_a_healthy_target_is_whole():
    """Largest served and smallest rejected; nothing was served wrongly."""
    _, played = search(stating(500_001, 500_000))
    assert limit_map(played.judgements) == LimitMap(largest_served=500_000, smallest_rejected=500_000 + PAGE)
