"""Token counts that fit, that do not, and that healthy servers make up."""

import pytest

from prober.detect.detectors.usage import detect_usage
from prober.domain.answer import Answer
from prober.domain.evidence import History
from prober.domain.finding import Reason
from prober.domain.observation import Usage
from prober.domain.options import Malformation, RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.probe import PromptSpec, SharedText
from tests.support.evidence import DONOR, LIMIT, OVER, a_probe, an_evidence, an_observation


def judge(prompt_tokens: int | None, cached: int | None = None, *, planned: int | None = OVER, **parts: object):
    """Judge the counts of a 700,000-token probe."""
    observation = an_observation(usage=Usage(prompt_tokens=prompt_tokens, cached_tokens=cached))
    return detect_usage(an_evidence(planned=planned, observation=observation, **parts))


@pytest.mark.parametrize(
    ("reported", "outcome", "reason"),
    [
        (OVER, Outcome.CLEAN, Reason.USAGE_AS_PREDICTED),
        (OVER - 2, Outcome.CLEAN, Reason.USAGE_AS_PREDICTED),
        (OVER + 3, Outcome.SUSPECT, Reason.USAGE_MISMATCH),
        (1, Outcome.SUSPECT, Reason.USAGE_MISMATCH),
        (699_000, Outcome.SUSPECT, Reason.USAGE_MISMATCH),
        (None, Outcome.INCONCLUSIVE, Reason.USAGE_MISSING),
    ],
)
def test_prompt_tokens_fit_within_tolerance_or_are_suspicious(reported: int | None, outcome: Outcome, reason: Reason):
    """A missing count is neither."""
    (finding,) = judge(reported)
    assert (finding.outcome, finding.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("case", "parts"),
    [((LIMIT,), {}), ((500,), {"planned": None}), ((1,), {"answer": Answer.REROUTED})],
    ids=["truncated", "calibrating", "rerouted"],
)
def test_what_others_judge_is_left_to_them(case: tuple[int, ...], parts: dict[str, object]):
    """Truncation belongs to the status contract; without a plan, or from another LLM, there is nothing to compare."""
    assert judge(*case, **parts) == ()


@pytest.mark.parametrize("answer", [answer for answer in Answer if not answer.is_served])
def test_unserved_answers_have_no_usage_to_judge(answer: Answer):
    """A rejection may report `prompt_tokens` = 1 and be healthy."""
    assert judge(1, answer=answer) == ()


@pytest.mark.parametrize(
    ("cached", "baseline", "probes", "is_suspect"),
    [
        (5_000, None, 0, False),
        (5_000, None, 2, False),
        (5_000, None, 3, True),
        (127, None, 3, False),
        (128, None, 3, True),
        (5_000, 4_000, 9, True),
        (4_127, 4_000, 9, False),
        (4_128, 4_000, 1, True),
        (OVER - 1, 0, 9, False),
        (2 * OVER, 0, 9, False),
        (None, 0, 9, False),
    ],
)
def test_cached_tokens_alert_on_a_change_of_the_endpoints_own_habit(
    cached: int | None, baseline: int | None, probes: int, *, is_suspect: bool
):
    """Learned first; zeros may be left out; impossible counts are a healthy server's habit."""
    found = judge(OVER, cached, history=History(cached_tokens_baseline=baseline, probes=probes))
    reasons = [finding.reason for finding in found if finding.outcome is Outcome.SUSPECT]
    assert reasons == ([Reason.CACHE_HIT_ON_NEW_TEXT] if is_suspect else [])


def test_resent_text_may_be_cached():
    """A prompt rewritten for exact targeting shares its start with one sent before."""
    probe = a_probe(prompt=PromptSpec(tokens=OVER, rewrite_of=DONOR))
    assert len(judge(OVER, 600_000, probe=probe, history=History(cached_tokens_baseline=0))) == 1


def test_primed_text_may_be_cached():
    """What another prompt put into the cache on purpose is the cache test's business; whose own it is, it is fresh."""
    history = History(cached_tokens_baseline=0)
    for source, findings in ((DONOR, 1), (None, 2)):
        probe = a_probe(prompt=PromptSpec(tokens=OVER, shared=SharedText(source=source, lines=50)))
        assert len(judge(OVER, 600_000, probe=probe, history=history)) == findings


def test_a_request_broken_on_purpose_has_no_count_to_expect():
    """Its messages may be missing."""
    assert judge(1, probe=a_probe(options=RequestOptions(malformation=Malformation.NO_MESSAGES))) == ()
