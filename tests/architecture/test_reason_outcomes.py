"""The outcomes that docs/reasons.md gives each reason are those that come about, neither more nor fewer."""

import collections
import dataclasses
import random
from collections.abc import Sequence
from typing import TypeVar

import pytest

from prober.detect.answer import classify
from prober.detect.charts import CHARTS
from prober.detect.detectors import DETECTORS
from prober.detect.ladder import settle
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence, History
from prober.domain.finding import Reason
from prober.domain.observation import FailureKind, Observation, Refusal, RefusalReason, Timeline, Usage
from prober.domain.options import PLAIN, Arm, Malformation, RequestOptions, Trial
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation, Probe, PromptSpec, Role, SharedText
from prober.domain.reading import Garble, Reading, Tier
from prober.domain.series import SeriesTally
from prober.domain.target import OverlongContract
from tests.support.evidence import (
    ALL_FOUND,
    ALL_MISSED,
    CONTEXT,
    END_MISSED,
    NOTHING_READ,
    a_history,
    a_mark,
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

EXAMPLES = 12_000

ABOUT_A_RUN = {
    Reason.TOO_FEW_SAMPLES,
    Reason.CALIBRATION_FAILED,
    Reason.ONE_ACCOUNT,
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
            response_id=self.any_of(("id-0", "id-9", None)),
            response_ids=self.seldom(1, 2),
            logprobs_agree=self.any_of((None, None, None, False)),
            system_fingerprint=self.seldom("fp-1", "fp-2"),
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
            fragments=self.seldom((), (a_tally(18.0),), (a_tally(40.0),)),
            garble=self.seldom(Garble(), Garble(scripts=3), Garble(longest_loop=250), Garble(doubled_words=20)),
            signature=self.any_of((a_mark().signature, tuple(range(100, 164)))),
            letters=200,
            foreign_choice=self.seldom("", "amber lamp"),
            repeats_opening=self.seldom(*reversed(_YES_OR_NO)),
        )

    def probe(self) -> Probe:
        """One request, alone, in a comparison, or broken on purpose."""
        malformations = [RequestOptions(malformation=malformation) for malformation in Malformation]
        arms = (Arm.HIT, Arm.CHECK)
        trials = [
            Trial(series=series, number=1, arm=self.any_of(arms), cohort="odd" if series == "cohorts" else "")
            for series in ("parallel/8", "drift", "cohorts", "cache_sharing/prefix")
        ]
        return a_probe(
            expectation=self.any_of(tuple(Expectation)),
            role=self.seldom(Role.CHECK, Role.LIVENESS),
            options=self.seldom(PLAIN, *malformations),
            trial=self.any_of((None, *trials)),
            prompt=PromptSpec(
                tokens=300_000, shared=self.seldom(None, SharedText(source=a_mark().canary, lines=9_000))
            ),
        )

    def history(self) -> History:
        """A run so far, with something to compare with."""
        primed = a_mark(
            response_id="id-5",
            trial=Trial(series="cache_sharing/prefix", number=1, arm=Arm.PRIME),
            text_sha256="t3",
            signature=(),
        )
        cohorts = [
            a_mark(trial=Trial(series="cohorts", number=1, arm=Arm.CHECK, cohort=cohort), system_fingerprint=label)
            for cohort, label in (("b", "fp-1"), ("c", "fp-1"), ("odd", "fp-2"))
            for _ in range(3)
        ]
        bound = RequestOptions(reasoning_budget=64)
        thoughts = [
            a_mark(text_sha256="t5", signature=(), response_id=None, reasoning_tokens=tokens, options=options)
            for tokens, options in (*[(200, PLAIN)] * 6, (64, bound))
        ]
        failed = a_mark(role=Role.LIVENESS, answer=self.any_of((Answer.SERVED_FULL, Answer.HANG)), text_sha256="t4")
        return a_history(
            a_mark(),
            primed,
            *cohorts,
            *thoughts,
            failed,
            anchors={200_000: (18.0, 18.5, 19.0)},
            recall_score=self.seldom(0.0, 9.0),
            fast_probe_labels=self.seldom((), ("seed_and_probe/0009",)),
            models_reported=("m",),
            cached_tokens_baseline=0,
            is_recall_proven=self.seldom(*_YES_OR_NO),
            recall_trials=20,
            recall_passes=self.seldom(20, 18),
            scores=self.seldom({}, dict.fromkeys((chart.name for chart in CHARTS), 9.0)),
            series={
                "parallel/1": SeriesTally(asked=40),
                "parallel/8": SeriesTally(asked=40, missed=self.any_of((0, 15, 39))),
                "cache_sharing/prefix": SeriesTally(hits=40, shared=self.any_of((0, 1)), controls=40, control_hits=40),
            },
        )

    def evidence(self) -> Evidence:
        """All of it, with the answer that it amounts to."""
        planned = self.any_of((300_000, 700_000, CONTEXT))
        target = a_target(overlong=self.any_of(tuple(OverlongContract)))
        probe = self.probe()
        prompt = a_prompt(planned_tokens=planned, text_sha256=self.any_of(("t1", "t2", "t2")))
        observation = self.observation(planned)
        return an_evidence(
            target=target,
            probe=probe,
            prompt=prompt,
            observation=observation.without_text(),
            answer=classify(target, probe, prompt, observation),
            reading=self.reading() if observation.text else NOTHING_READ,
            history=self.history(),
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


@pytest.mark.no_coverage
def test_every_documented_outcome_comes_about_and_no_other():
    """Operators set their alerts by this table, so each pair in it is real, and none is missing."""
    about_runs = {reason: {Outcome.INCONCLUSIVE} for reason in ABOUT_A_RUN}

    expected = {**observed(), **about_runs}

    assert outcomes_of_reasons(document("docs/reasons.md")) == {
        reason.value: {outcome.name for outcome in outcomes} for reason, outcomes in expected.items()
    }


@pytest.mark.no_coverage
def test_the_draws_reach_every_answer():
    """The comparison is worth something only if nothing a remote can do is left out."""
    chance = Chance(seed=2)

    assert {chance.evidence().answer for _ in range(EXAMPLES // 2)} == set(Answer)


def test_the_healthy_case_is_clean():
    """The usual value of every part makes an answer with nothing to complain about."""
    evidence = dataclasses.replace(an_evidence(), history=History(anchors={200_000: (18.0, 18.5, 19.0)}))

    findings = settle(evidence, tuple(finding for detector in DETECTORS for finding in detector(evidence)))

    assert {finding.outcome for finding in findings} == {Outcome.CLEAN}
