"""False alarms on an honest target with the measured noise of real ones."""

import collections
import itertools
import random

import pytest

from prober.detect.detectors import DETECTORS
from prober.detect.history import advance
from prober.detect.ladder import settle
from prober.detect.malformations import STRICT
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence, History, Judgement
from prober.domain.finding import Reason
from prober.domain.observation import Timeline, Usage
from prober.domain.options import Arm, Malformation, RequestOptions, Trial
from prober.domain.outcome import Outcome
from prober.domain.probe import (
    Disconnect,
    DisconnectMoment,
    Expectation,
    Probe,
    PromptSpec,
    Role,
    SharedText,
)
from prober.domain.prompt import NeedlePosition
from prober.domain.reading import Recall
from prober.domain.target import Target
from prober.domain.tenant import Tenant
from tests.support.evidence import DONOR, a_probe, a_prompt, a_reading, a_target, an_evidence, an_observation
from tests.support.honest import RATES, HonestTarget

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


@pytest.mark.no_coverage
def test_twenty_thousand_honest_probes_raise_no_alarm():
    """With ten anchors per run, at the noise of the larger published set: no warning and no page on any axis."""
    counts = play(20_000, anchors=10, curve=NOISE, seed=9)

    assert alarms(counts) == {}
    assert counts[Outcome.CLEAN, Reason.PREFILL_PLAUSIBLE] > 19_000
    assert counts[Outcome.INCONCLUSIVE, Reason.RECALL_MISSED] > 200
    assert counts[Outcome.INCONCLUSIVE, Reason.REFUSED_BY_LLM] > 100


@pytest.mark.no_coverage
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


TENANTS = (Tenant(name="alpha", number=1), Tenant(name="bravo", number=2))


class Traffic:
    """The scenarios' traffic in small rounds, against one honest target."""

    def __init__(self, seed: int, fired: collections.Counter[str]) -> None:
        self.target = HonestTarget(seed, fired)
        self.rng = random.Random(seed + 1)
        self.seed = seed
        self.references: list[str] = []
        self.round = 0

    def probe(self, scenario: str, *, tenant: int = 0, role: Role = Role.CHECK, **changes: object) -> Probe:
        label = f"{scenario}/{len(self.target.judgements) + 1:04d}"
        return a_probe(scenario=scenario, label=label, tenant=TENANTS[tenant], role=role, **changes)

    def play(self) -> None:
        """Play one round of everything."""
        self.round += 1
        for play in (self.load, self.replay, self.drift, self.cohorts, self.share, self.twins, self.storm, self.mix):
            play()

    def load(self) -> None:
        for number, load in enumerate((1, 4, 4, 4, 4)):
            trial = Trial(series=f"parallel/{load}", number=self.round, arm=Arm.CHECK)
            self.target.ask(self.probe("parallel_answers", tenant=number % 2, trial=trial), self.target.text())

    def replay(self) -> None:
        text = self.target.text()
        for arm, role in ((Arm.REFERENCE, Role.REFERENCE), (Arm.CHECK, Role.CHECK), (Arm.CHECK, Role.CHECK)):
            trial = Trial(series=f"replay/{self.round}", number=1, arm=arm)
            spec = PromptSpec(tokens=1_600, rewrite_of=DONOR if role is Role.CHECK else None)
            probe = self.probe("replay", role=role, trial=trial, prompt=spec)
            self.target.ask(probe, text, has_sent=role is Role.CHECK, is_warm=role is Role.CHECK)

    def drift(self) -> None:
        is_first = not self.references
        self.references = self.references or [self.target.text() for _ in range(3)]
        for number, text in enumerate(self.references, 1):
            trial = Trial(series="drift", number=number, arm=Arm.REFERENCE if is_first else Arm.CHECK)
            role = Role.REFERENCE if is_first else Role.CHECK
            spec = PromptSpec(tokens=1_600, rewrite_of=None if is_first else DONOR)
            self.target.ask(self.probe("drift", role=role, trial=trial, prompt=spec), text, has_sent=not is_first)

    def cohorts(self) -> None:
        for number in range(4):
            trial = Trial(series="cohorts", number=self.round, arm=Arm.CHECK, cohort=f"key-{number}")
            probe = self.probe("cohorts", trial=trial, prompt=PromptSpec(tokens=1_600, rewrite_of=DONOR))
            self.target.ask(probe, self.references[number % 2], has_sent=True)

    def share(self) -> None:
        salted = self.seed % 2
        arms = [Arm.HIT, Arm.MISS]
        self.rng.shuffle(arms)
        for arm in (Arm.PRIME, *arms, Arm.CONTROL):
            tenant = 0 if arm in {Arm.PRIME, Arm.CONTROL} else 1
            source = None if arm in {Arm.PRIME, Arm.MISS} else DONOR
            probe = self.probe(
                "cache_sharing",
                tenant=tenant,
                prompt=PromptSpec(tokens=1_600, shared=SharedText(source=source, lines=50)),
                options=RequestOptions(cache_salt=f"salt-{tenant}" if salted else None),
                trial=Trial(series=f"cache_sharing/prefix/{salted}", number=self.round, arm=arm),
            )
            own = arm is Arm.CONTROL
            self.target.ask(probe, self.target.text(), has_sent=own, is_warm=own)

    def twins(self) -> None:
        for tenant in range(2):
            trial = Trial(series="twins/same_id", number=self.round, arm=Arm.CHECK)
            options = RequestOptions(request_id=f"twin-{self.round}", wants_logprobs=True)
            self.target.ask(self.probe("twins", tenant=tenant, trial=trial, options=options), self.target.text())
        text = self.target.text()
        for tenant, arm in enumerate((Arm.PRIME, Arm.CHECK)):
            spec = PromptSpec(tokens=1_600, rewrite_of=DONOR if tenant else None)
            trial = Trial(series="twins/same_text", number=self.round, arm=arm)
            self.target.ask(self.probe("twins", tenant=tenant, trial=trial, prompt=spec), text)

    def storm(self) -> None:
        for number in range(2):
            disconnect = Disconnect(moment=DisconnectMoment.MID_PREFILL, after_seconds=0.1)
            aborted = self.probe("abort_storm", tenant=1, role=Role.NEIGHBOUR, disconnect=disconnect)
            self.target.ask(aborted, self.target.text())
            self.target.ask(self.probe("abort_storm", tenant=number), self.target.text())
        self.target.ask(self.probe("abort_storm", role=Role.LIVENESS), self.target.text())

    def mix(self) -> None:
        malformation = list(Malformation)[self.round % len(Malformation)]
        if malformation in STRICT and self.target.habits.is_lenient:
            malformation = Malformation.TEMPERATURE_OUT_OF_RANGE
        for options in (
            RequestOptions(choices=("4071 5526 9938", "8213 6640 1175")),
            RequestOptions(favoured_token=1_000),
            RequestOptions(malformation=malformation),
        ):
            expectation = Expectation.SERVE if options.malformation is None else Expectation.REJECT
            role = Role.NEIGHBOUR
            neighbour = self.probe("mixed", tenant=1, role=role, options=options, expectation=expectation)
            self.target.ask(neighbour, self.target.text())
            self.target.ask(self.probe("mixed"), self.target.text())


STATED = {
    Reason.REPLAY_DIVERGED: 1e-3,
    Reason.SERVED_INVALID: 1e-3,
    Reason.GARBLED: 1e-4,
    Reason.TOKENS_DOUBLED: 1e-4,
    Reason.FOREIGN_FRAGMENTS: 1e-3,
    Reason.STREAM_BROKEN: 1e-4,
    Reason.DRIFTED: 1e-4,
    Reason.EMPTY_ANSWER: 1e-4,
    Reason.RECALL_COLLAPSED: 1e-4,
    Reason.LOST_UNDER_LOAD: 1e-4,
    Reason.COHORT_DIFFERS: 1e-4,
    Reason.WEDGED: 1e-4,
    Reason.VOCABULARY_COLLAPSED: 1e-4,
    Reason.REASONING_CUT: 1e-4,
}
"""SUSPECT per answer at most, as docs/reasons.md states them."""


@pytest.mark.no_coverage
@pytest.mark.slow
def test_twenty_thousand_honest_probes_of_every_scenario_raise_no_violation():
    """Comparisons, charts and exact tests beside each other, on targets of all honest habits, failing as LLMs do."""
    fired: collections.Counter[str] = collections.Counter()
    counts: collections.Counter = collections.Counter()
    probes = 0
    for seed in range(20):
        traffic = Traffic(seed, fired)
        while len(traffic.target.judgements) < 1_000:
            traffic.play()
        probes += len(traffic.target.judgements)
        for judgement in traffic.target.judgements:
            counts.update((finding.outcome, finding.reason) for finding in judgement.findings)
            assert all(finding.kinds or finding.outcome.rank < Outcome.SUSPECT.rank for finding in judgement.findings)

    suspects = {reason: number for (outcome, reason), number in counts.items() if outcome is Outcome.SUSPECT}
    assert probes >= 20_000
    assert min(fired[failing] for failing in RATES) >= 50, fired
    assert not [key for key in counts if key[0] is Outcome.VIOLATION]
    # Three more than expected at the stated rate: 1 in 50 of such tests would fail by chance.
    assert all(number <= STATED.get(reason, 0) * probes + 3 for reason, number in suspects.items()), suspects
    for reason in (Reason.REPLAY_EQUAL, Reason.CACHE_ISOLATED, Reason.REFUSED_AS_DUE, Reason.RECALL_OK):
        assert counts[Outcome.CLEAN, reason] > 100, reason
