"""Too fast for a prefill."""

import datetime as dt

import pytest

from prober.detect.detectors.prefill_floor import detect_prefill_floor
from prober.domain.answer import Answer
from prober.domain.evidence import History
from prober.domain.finding import Reason
from prober.domain.observation import Timeline, Usage
from prober.domain.options import Malformation, RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.probe import PromptSpec, SharedText
from prober.domain.target import OverlongContract, PhysicalBound
from tests.support.evidence import DONOR, LIMIT, NOON, OVER, a_probe, a_target, an_observation, over_limit

ANCHORS = {200_000: (20.0, 21.0, 22.0)}
FLOOR = 28.0
"""0.4 x 3.5 x 20 s, with no fixed cost."""
GPUS = PhysicalBound(active_parameters=4e10, gpus=8, peak_flops_per_gpu=2e15)


def judge(
    seconds: float | None,
    *,
    lag: float = 0.0,
    usage: Usage | None = None,
    is_stream: bool = True,
    streak: tuple[str, ...] = (),
    anchors: dict[int, tuple[float, ...]] = ANCHORS,
    **parts: object,
):
    """Judge a 700,000-token probe whose first token came after `seconds`."""
    observation = an_observation(
        timeline=Timeline(first_token=seconds, loop_lag_seconds=lag),
        usage=usage or Usage(prompt_tokens=OVER),
        is_stream=is_stream,
    )
    history = History(anchors=anchors, quickest_first_token=0.0, fast_probe_labels=streak)
    return detect_prefill_floor(over_limit(observation=observation, history=history, **parts))


@pytest.mark.parametrize(
    ("seconds", "streak", "outcome", "reason", "is_confirmed"),
    [
        (FLOOR + 0.001, (), Outcome.CLEAN, Reason.PREFILL_PLAUSIBLE, False),
        (FLOOR + 0.001, ("a/1",), Outcome.CLEAN, Reason.PREFILL_PLAUSIBLE, False),
        (FLOOR - 0.001, (), Outcome.SUSPECT, Reason.PREFILL_TOO_FAST, False),
        (0.5, ("a/1",), Outcome.VIOLATION, Reason.PREFILL_TOO_FAST, True),
    ],
)
def test_one_fast_answer_warns_and_a_second_in_a_row_pages(
    seconds: float | None, streak: tuple[str, ...], outcome: Outcome, reason: Reason, *, is_confirmed: bool
):
    """The floor itself is still plausible."""
    (finding,) = judge(seconds, streak=streak)
    assert (finding.outcome, finding.reason, finding.is_confirmed) == (outcome, reason, is_confirmed)
    assert "28.000 s" in finding.message


@pytest.mark.parametrize(
    ("ended_seconds_ago", "outcome"),
    [(0.0, Outcome.VIOLATION), (60.0, Outcome.VIOLATION), (-0.001, Outcome.SUSPECT)],
)
def test_two_fast_answers_in_flight_together_count_once(ended_seconds_ago: float, outcome: Outcome):
    """Only an answer that was asked for after the first fast one had ended confirms it."""
    until = NOON - dt.timedelta(seconds=ended_seconds_ago)
    history = History(anchors=ANCHORS, quickest_first_token=0.0, fast_probe_labels=("a/1",), fast_until=until)
    observation = an_observation(timeline=Timeline(first_token=0.5), usage=Usage(prompt_tokens=OVER))
    (finding,) = detect_prefill_floor(over_limit(observation=observation, history=history))
    assert (finding.outcome, finding.reason) == (outcome, Reason.PREFILL_TOO_FAST)


@pytest.mark.parametrize(
    ("seconds", "lag", "outcome"),
    [
        (1.0, 0.020, Outcome.SUSPECT),
        (1.0, 0.021, Outcome.INCONCLUSIVE),
        (FLOOR + 0.01, 0.021, Outcome.INCONCLUSIVE),
        (60.0, 0.021, Outcome.CLEAN),
    ],
)
def test_a_late_event_loop_proves_nothing_unless_it_could_not_matter(
    seconds: float | None, lag: float, outcome: Outcome
):
    """Above 20 ms of lag nothing is claimed, but lag cannot explain an answer that is slower by more than itself."""
    (finding,) = judge(seconds, lag=lag)
    assert finding.outcome is outcome


@pytest.mark.parametrize(
    "case",
    [
        {"seconds": None},
        {"seconds": 1.0, "is_stream": False},
        {"seconds": 1.0, "anchors": {}},
        {"seconds": 1.0, "anchors": {200_000: (20.0, 21.0)}},
        {"seconds": 1.0, "anchors": {OVER: (20.0, 21.0, 22.0)}},
        {"seconds": 1.0, "answer": Answer.REROUTED},
        {"seconds": 1.0, "probe": a_probe(prompt=PromptSpec(tokens=OVER, rewrite_of=over_limit().prompt.canary))},
        {"seconds": 1.0, "probe": a_probe(prompt=PromptSpec(tokens=OVER, shared=SharedText(source=DONOR, lines=9)))},
        {"seconds": 1.0, "probe": a_probe(options=RequestOptions(malformation=Malformation.UNKNOWN_ROLE))},
        {"seconds": 1.0, "usage": Usage(prompt_tokens=OVER, cached_tokens=7_000)},
        {"seconds": 1.0, "planned": None, "usage": Usage()},
    ],
)
def test_where_no_floor_stands_nothing_is_said(case: dict[str, object]):
    """No token, no stream, no anchors, other places, primed text, broken requests, cache hits, unknown sizes."""
    assert judge(**case) == ()


@pytest.mark.parametrize("cached", [0, 6_999, OVER - 1, None])
def test_small_and_impossible_cache_counts_excuse_nothing(cached: int | None):
    """Below 1 % of the prompt, or the healthy habit of reporting all tokens but one."""
    (finding,) = judge(1.0, usage=Usage(prompt_tokens=OVER, cached_tokens=cached))
    assert finding.outcome is Outcome.SUSPECT


def test_the_physical_bound_stands_without_anchors():
    """700,000 tokens are 3.5 s of arithmetic on these 8 GPUs."""
    (finding,) = judge(3.4, anchors={}, target=a_target(physical_bound=GPUS))
    assert finding.outcome is Outcome.SUSPECT
    assert "physical bound" in finding.message
    (finding,) = judge(3.6, anchors={}, target=a_target(physical_bound=GPUS))
    assert finding.outcome is Outcome.CLEAN


def test_a_promised_truncation_is_measured_by_what_it_had_to_read():
    """Under auto-truncation a 1,040,000-token prompt costs a prefill of the limit's length only."""
    target = a_target(overlong=OverlongContract.TRUNCATE)
    limit_floor = 0.4 * LIMIT / 200_000 * 20.0
    for seconds, outcome in ((limit_floor + 0.1, Outcome.CLEAN), (limit_floor - 0.1, Outcome.SUSPECT)):
        (finding,) = judge(seconds, planned=1_040_000, usage=Usage(prompt_tokens=1_040_000), target=target)
        assert finding.outcome is outcome
