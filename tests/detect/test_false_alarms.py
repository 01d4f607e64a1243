"""False alarms on an honest target with the measured noise of real ones."""

import collections
import itertools
import random

import pytest

from prober.detect.detectors import DETECTORS
from prober.detect.history import advance
from prober.detect.ladder import settle
from prober.domain.evidence import Answer, Evidence, History, Judgement
from prober.domain.finding import Reason
from prober.domain.observation import Timeline, Usage
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation, Role
from prober.domain.prompt import NeedlePosition
from prober.domain.reading import Recall
from prober.domain.target import Target
from tests.support.evidence import a_probe, a_prompt, a_reading, a_target, an_evidence, an_observation

# Ratio to the endpoint's median over 22,488 honest timings: (probability below, ratio).
NOISE = (
    (0.0, 0.5),
    (0.0004, 0.6),
    (0.0034, 0.7),
    (0.074, 0.9),
    (0.5, 1.0),
    (0.9, 1.24),
    (0.99, 3.0),
    (0.999, 9.5),
    (1.0, 12.0),
)
# Another provider was less even: 20 of 7,000 below 0.5, 6 below 0.4, none below 0.3.
UNEVEN = ((0.0, 0.3), (6 / 7000, 0.4), (20 / 7000, 0.5), *NOISE[3:])
NEEDLE_MISS = 0.02
"""Per needle, independent; and as often all three together, since misses of real LLMs depend on each other."""
ALL_MISS = 0.003
REFUSAL = 0.01


def noise(rng: random.Random, curve: tuple[tuple[float, float], ...]) -> float:
    """Draw a ratio from the piecewise linear quantile function."""
    level = rng.random()
    for (low, start), (high, end) in itertools.pairwise(curve):
        if level <= high:
            return start + (end - start) * (level - low) / (high - low)
    raise AssertionError


def prefill(tokens: int) -> float:
    """Published timings of Qwen3-235B on 32 H20, within 0.5 %."""
    return 0.48 + 3.02e-5 * tokens + 3.545e-10 * tokens**2


def honest(
    rng: random.Random,
    target: Target,
    tokens: int,
    role: Role,
    history: History,
    curve: tuple[tuple[float, float], ...],
) -> Evidence:
    """Build one honest answer: slow or quick, forgetful or refusing as real ones are."""
    is_forgetful = rng.random() < ALL_MISS
    refuses = rng.random() < REFUSAL
    found = tuple(p for p in NeedlePosition if not (is_forgetful or refuses or rng.random() < NEEDLE_MISS))
    seconds = prefill(tokens) * noise(rng, curve)
    return an_evidence(
        target=target,
        probe=a_probe(role=role, expectation=Expectation.SERVE if tokens < 681_274 else Expectation.EITHER),
        prompt=a_prompt(planned_tokens=tokens),
        answer=Answer.SERVED_FULL,
        observation=an_observation(
            usage=Usage(prompt_tokens=tokens + rng.choice((-1, 0, 0, 0, 1)), completion_tokens=60),
            timeline=Timeline(first_token=seconds, loop_lag_seconds=0.03 if rng.random() < 0.01 else 0.002),
        ),
        reading=a_reading(
            recall=Recall(asked=tuple(NeedlePosition), found=found),
            novel_words=40 if refuses else rng.randrange(8),
            longest_novel_run=30 if refuses else rng.randrange(5),
            is_refusal_like=refuses,
        ),
        history=history,
    )


def judge(evidence: Evidence) -> Judgement:
    """Run the whole detect layer over one probe."""
    findings = tuple(finding for detector in DETECTORS for finding in detector(evidence))
    return Judgement(evidence=evidence, findings=settle(evidence, findings))


def play(probes: int, *, anchors: int, curve: tuple[tuple[float, float], ...], seed: int) -> collections.Counter:
    """Judge honest probes in runs of 100 after k anchors each; count (outcome, reason)."""
    rng = random.Random(seed)
    target = a_target(prefill_pool_tokens=None)
    counts: collections.Counter = collections.Counter()
    for _ in range(probes // 100):
        history = History()
        for number in range(anchors + 100):
            role = Role.ANCHOR if number < anchors else Role.CHECK
            tokens = 262_144 if role is Role.ANCHOR else rng.randrange(300_000, 1_040_000)
            judgement = judge(honest(rng, target, tokens, role, history, curve))
            history = advance(history, judgement)
            counts.update((finding.outcome, finding.reason) for finding in judgement.findings)
    return counts


def alarms(counts: collections.Counter) -> dict[Reason, int]:
    """Sum what is suspicious or worse, by reason."""
    found: dict[Reason, int] = collections.Counter()
    for (outcome, reason), number in counts.items():
        if outcome in {Outcome.SUSPECT, Outcome.VIOLATION}:
            found[reason] += number
    return dict(found)


def test_twenty_thousand_honest_probes_raise_no_alarm():
    """With ten anchors per run, at the noise of the larger published set: no warning and no page on any axis."""
    counts = play(20_000, anchors=10, curve=NOISE, seed=9)

    assert alarms(counts) == {}
    assert counts[Outcome.CLEAN, Reason.PREFILL_PLAUSIBLE] > 19_000
    assert counts[Outcome.INCONCLUSIVE, Reason.RECALL_MISSED] > 200
    assert counts[Outcome.INCONCLUSIVE, Reason.REFUSED_BY_LLM] > 100


@pytest.mark.parametrize("anchors", [3, 5])
def test_few_anchors_on_an_uneven_endpoint_warn_rarely_and_never_page(anchors: int):
    """At the noisier published set single timing warnings stay below 4e-4 per probe; nothing becomes a violation."""
    counts = play(5_000, anchors=anchors, curve=UNEVEN, seed=10 + anchors)

    assert set(alarms(counts)) <= {Reason.PREFILL_TOO_FAST}
    assert alarms(counts).get(Reason.PREFILL_TOO_FAST, 0) <= 5_000 * 4e-4
    assert not [key for key in counts if key[0] is Outcome.VIOLATION]


def test_the_same_noise_on_a_target_that_skips_its_prefill_is_found():
    """The alarms can ring: fixed cost and a queue instead of the prefill, every needle missed, from the first probe."""
    rng = random.Random(12)
    target = a_target(prefill_pool_tokens=None)
    history = History(is_recall_proven=True)
    for _ in range(5):
        history = advance(history, judge(honest(rng, target, 262_144, Role.ANCHOR, history, NOISE)))
    caught = 0
    for _ in range(200):
        tokens = rng.randrange(681_274, 1_048_576)
        evidence = honest(rng, target, tokens, Role.CHECK, history, NOISE)
        leaking = an_evidence(
            target=target,
            probe=evidence.probe,
            prompt=evidence.prompt,
            history=history,
            observation=an_observation(
                usage=Usage(prompt_tokens=tokens), timeline=Timeline(first_token=0.48 + rng.random() * 1.5)
            ),
            reading=a_reading(recall=Recall(asked=tuple(NeedlePosition)), novel_words=20),
        )
        caught += judge(leaking).outcome is Outcome.VIOLATION
    assert caught == 200
