"""The outcomes that docs/reasons.md gives each reason are those that come about, neither more nor fewer."""

import collections
import dataclasses
import random
from collections.abc import Sequence
from typing import TypeVar

from prober.detect.answer import classify
from prober.detect.detectors import DETECTORS
from prober.detect.ladder import settle
from prober.domain.evidence import Answer, Evidence, History
from prober.domain.finding import Reason
from prober.domain.observation import FailureKind, Observation, Refusal, RefusalReason, Timeline, Usage
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation
from prober.domain.reading import Reading, Tier
from prober.domain.target import OverlongContract
from tests.support.evidence import (
    ALL_FOUND,
    ALL_MISSED,
    CONTEXT,
    END_MISSED,
    NOTHING_READ,
    a_probe,
    a_prompt,
    a_reading,
    a_sighting,
    a_tally,
    a_target,
    an_evidence,
    an_observation,
)
from tests.support.markdown import document, outcomes_of_reasons

EXAMPLES = 6_000

ABOUT_A_RUN = {
    Reason.TOO_FEW_SAMPLES,
    Reason.CALIBRATION_FAILED,
    Reason.BUDGET_EXHAUSTED,
    Reason.INTERRUPTED,
    Reason.SELFTEST_FAILED,
    Reason.DETECTOR_CRASHED,
}
"""Said by the runner, not by a detector; always because something was not judged."""

Value = TypeVar("Value")
_YES_OR_NO = (True, False)


class Chance:
    """Evidence by seeded chance, healthy for the most part: what differs is drawn for each part by itself."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def seldom(self, usual: Value, *others: Value) -> Value:
        """The usual value in five of six cases."""
        return usual if self._random.random() < 5 / 6 else self._random.choice(others)

    def any_of(self, values: Sequence[Value]) -> Value:
        """Any value, all alike."""
        return self._random.choice(values)

    def observation(self, planned: int) -> Observation:
        """One whole answer, or something else."""
        text = self.seldom("Harbour phrase.", "")
        refusals = [Refusal(reason=reason, in_stream=self.any_of(_YES_OR_NO)) for reason in RefusalReason]
        return an_observation(
            status=self.seldom(200, 400, 401, 404, 413, 429, 500),
            failure=self.any_of((None,) * 60 + tuple(FailureKind)),
            refusal=self.any_of((None,) * 40 + tuple(refusals)),
            text=text,
            finish_reason=self.any_of(("stop", "length", "error")),
            usage=Usage(
                prompt_tokens=self.seldom(planned, None, 1, planned // 2, planned - 100),
                completion_tokens=60,
                cached_tokens=self.seldom(None, 0, 5_000),
                reasoning_tokens=self.seldom(None, 64),
            ),
            timeline=Timeline(first_token=self.seldom(60.0, 0.2), loop_lag_seconds=self.seldom(0.0, 0.1)),
            model_reported=self.seldom("m", "other"),
            evidence_headers=self.seldom({}, {"cf-aig-cache-status": "HIT"}),
            is_terminated=self.seldom(*_YES_OR_NO),
            bad_frames=self.seldom(0, 1),
            token_frames=9 if text else 0,
        )

    def reading(self) -> Reading:
        """What the answer's text said."""
        sightings = [
            a_sighting(tier=tier, evidence_bits=bits, is_live=is_live, windows=windows)
            for tier in (Tier.CODE, Tier.LIVE)
            for bits in (20.0, 40.0)
            for is_live in (True, False)
            for windows in (1, 2)
        ]
        return a_reading(
            recall=self.any_of((ALL_FOUND, ALL_MISSED, END_MISSED)),
            novel_words=self.seldom(0, 55),
            is_refusal_like=self.seldom(*reversed(_YES_OR_NO)),
            foreign=self.seldom((), *((sighting,) for sighting in sightings)),
            fragments=self.seldom((), (a_tally(12.0),), (a_tally(40.0),)),
        )

    def evidence(self) -> Evidence:
        """All of it, with the answer that it amounts to."""
        planned = self.any_of((300_000, 700_000, CONTEXT))
        target = a_target(overlong=self.any_of(tuple(OverlongContract)))
        probe = a_probe(expectation=self.any_of(tuple(Expectation)))
        prompt, observation = a_prompt(planned_tokens=planned), self.observation(planned)
        return an_evidence(
            target=target,
            probe=probe,
            prompt=prompt,
            observation=observation.without_text(),
            answer=classify(target, probe, prompt, observation),
            reading=self.reading() if observation.text else NOTHING_READ,
            history=History(
                anchors={200_000: (18.0, 18.5, 19.0)},
                recall_score=self.seldom(0.0, 9.0),
                fast_probe_labels=self.seldom((), ("seed_and_probe/0009",)),
                models_reported=("m",),
                cached_tokens_baseline=0,
                is_recall_proven=self.seldom(*_YES_OR_NO),
                probes=9,
            ),
        )


def observed() -> dict[Reason, set[Outcome]]:
    """Outcomes by reason, after the ladder, over many draws."""
    chance = Chance(seed=1)
    found: dict[Reason, set[Outcome]] = collections.defaultdict(set)
    for _ in range(EXAMPLES):
        evidence = chance.evidence()
        findings = tuple(finding for detector in DETECTORS for finding in detector(evidence))
        for finding in settle(evidence, findings):
            found[finding.reason].add(finding.outcome)
    return found


def test_every_documented_outcome_comes_about_and_no_other():
    """Operators set their alerts by this table, so each pair in it is real, and none is missing."""
    about_runs = {reason: {Outcome.INCONCLUSIVE} for reason in ABOUT_A_RUN}

    expected = {**observed(), **about_runs}

    assert outcomes_of_reasons(document("docs/reasons.md")) == {
        reason.value: {outcome.name for outcome in outcomes} for reason, outcomes in expected.items()
    }


def test_the_draws_reach_every_answer():
    """The comparison is worth something only if nothing a remote can do is left out."""
    chance = Chance(seed=2)

    assert {chance.evidence().answer for _ in range(EXAMPLES // 2)} == set(Answer)


def test_the_healthy_case_is_clean():
    """The usual value of every part makes an answer with nothing to complain about."""
    evidence = dataclasses.replace(an_evidence(), history=History(anchors={200_000: (18.0, 18.5, 19.0)}))

    findings = settle(evidence, tuple(finding for detector in DETECTORS for finding in detector(evidence)))

    assert {finding.outcome for finding in findings} == {Outcome.CLEAN}
