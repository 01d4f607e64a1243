"""Sharing of prefix cache entries across tenants."""

import pytest

from prober.detect.detectors.cache_sharing import (
    LEAST_CONTROL_SHARE,
    LEAST_CONTROLS,
    SEPARATES_E,
    WARN_E,
    detect_cache_sharing,
)
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.finding import Reason
from prober.domain.mark import AnswerMark
from prober.domain.observation import Timeline, Usage
from prober.domain.options import Arm, Trial
from prober.domain.outcome import Outcome
from prober.domain.probe import PromptSpec, SharedText
from prober.domain.series import SeriesTally
from prober.stats.eprocess import sign_e_value
from tests.support.evidence import DONOR, a_history, a_mark, a_probe, a_prompt, an_evidence, an_observation

CLEAN, SUSPECT, VIOLATION = Outcome.CLEAN, Outcome.SUSPECT, Outcome.VIOLATION
SERIES = "cache_sharing/prefix/unsalted"
NOTHING = SeriesTally()
CONTROLLED = SeriesTally(controls=20, control_hits=19)


def mark(arm: Arm, first_token: float | None = None) -> AnswerMark:
    return a_mark(trial=Trial(series=SERIES, number=1, arm=arm), first_token_seconds=first_token)


def asking(
    arm: Arm = Arm.HIT, *marks: AnswerMark, tally: SeriesTally = NOTHING, cached: int = 0, **changes: object
) -> Evidence:
    """Tenant 1 asks for text that tenant 2 primed; the series stands so far as told."""
    parts = {
        "probe": a_probe(
            prompt=PromptSpec(tokens=1_600, shared=SharedText(source=DONOR, lines=50)),
            trial=Trial(series=SERIES, number=1, arm=arm),
        ),
        "prompt": a_prompt(planned_tokens=1_600, filler_words=1_600),
        "observation": an_observation(
            usage=Usage(prompt_tokens=1_600, cached_tokens=cached), timeline=Timeline(first_token=1.0)
        ),
        "history": a_history(mark(Arm.PRIME), *marks, series={SERIES: tally}, cached_tokens_baseline=0),
    }
    return an_evidence(**{**parts, **changes})


@pytest.mark.parametrize(
    ("before", "cached", "outcome"),
    [
        (SeriesTally(), 800, SUSPECT),
        (SeriesTally(hits=9), 128, SUSPECT),
        (SeriesTally(hits=9, shared=1), 800, VIOLATION),
        (SeriesTally(hits=9, shared=4), 800, VIOLATION),
    ],
)
def test_one_hit_is_a_suspicion_and_the_second_a_violation(before: SeriesTally, cached: int, outcome: Outcome):
    """The count has no tolerance; a second hit in the series confirms it."""
    (finding,) = detect_cache_sharing(asking(tally=before, cached=cached))

    assert (finding.reason, finding.outcome) == (Reason.CACHE_SHARED, outcome)
    assert finding.is_confirmed is (outcome is VIOLATION)
    assert f"{cached:,} cached tokens" in finding.message


@pytest.mark.parametrize(
    "evidence",
    [
        asking(cached=127),
        asking(Arm.CONTROL, cached=800),
        asking(Arm.PRIME, cached=800),
        asking(Arm.MISS, cached=800),
        asking(cached=800, answer=Answer.BUSY),
        asking(cached=800, history=a_history(series={SERIES: SeriesTally()}, cached_tokens_baseline=0)),
        asking(cached=800, probe=a_probe()),
    ],
)
def test_everything_else_is_silent(evidence: Evidence):
    """Fresh text, a tenant's own, text that nobody primed, answers that were none."""
    assert detect_cache_sharing(evidence) == ()


def wins(alarm: float, losses: int = 0) -> int:
    """Fewest won pairs that reach an alarm."""
    return next(won for won in range(999) if sign_e_value(won, losses) >= alarm)


SEPARATING = {"control_faster": wins(SEPARATES_E), "control_slower": 0}


@pytest.mark.parametrize(
    ("tally", "outcome"),
    [
        (SeriesTally(faster=wins(1e4) - 1, **SEPARATING), SUSPECT),
        (SeriesTally(faster=wins(1e6) - 1, **SEPARATING), VIOLATION),
        (SeriesTally(faster=wins(1e4) - 2, **SEPARATING), None),
        (SeriesTally(faster=wins(1e6), control_faster=wins(SEPARATES_E) - 1), None),
        (SeriesTally(faster=wins(1e6), slower=wins(1e6), **SEPARATING), None),
    ],
)
def test_times_speak_once_the_own_cache_is_seen_to_be_quicker(tally: SeriesTally, outcome: Outcome | None):
    """Paired signs: a warning at 1e4, a page at 1e6, and never without the positive control."""
    found = detect_cache_sharing(asking(Arm.HIT, mark(Arm.MISS, 9.0), tally=tally))

    assert [finding.outcome for finding in found] == ([outcome] if outcome else [])
    assert all(finding.reason is Reason.CACHE_SHARED and "pairs" in finding.message for finding in found)


def test_a_pair_completed_by_its_miss_speaks_too():
    """The order within a pair is drawn."""
    tally = SeriesTally(faster=wins(1e6), **SEPARATING)

    (finding,) = detect_cache_sharing(asking(Arm.MISS, mark(Arm.HIT, 0.5), tally=tally))

    assert finding.outcome is VIOLATION


def test_an_answer_that_completes_no_pair_adds_nothing():
    """The alarm was told when it rose."""
    assert detect_cache_sharing(asking(Arm.CONTROL, tally=SeriesTally(faster=wins(1e6), **SEPARATING))) == ()


TIMED = {"control_faster": LEAST_CONTROLS, "control_slower": 0}


@pytest.mark.parametrize(
    ("tally", "words"),
    [
        (CONTROLLED, "reported as cached"),
        (SeriesTally(controls=100, control_hits=95, hits=99), "reported as cached, while"),
        (SeriesTally(faster=10, slower=11, **TIMED), "sooner by the clock"),
        (SeriesTally(controls=19, control_hits=19), None),
        (SeriesTally(controls=100, control_hits=94), None),
        (SeriesTally(controls=20, control_hits=20, shared=1, hits=1), None),
        (SeriesTally(control_faster=19, control_slower=0), None),
        (SeriesTally(control_faster=18, control_slower=2), None),
        (SeriesTally(faster=wins(WARN_E), slower=0, **TIMED), None),
    ],
)
def test_isolation_is_claimed_only_where_sharing_would_have_shown(tally: SeriesTally, words: str | None):
    """Twenty positive controls and hits in 95 % of them: no hit may be no caching, or another replica."""
    found = detect_cache_sharing(asking(tally=tally))

    assert [(finding.outcome, finding.reason) for finding in found] == (
        [(CLEAN, Reason.CACHE_ISOLATED)] if words else []
    )
    assert all(words is not None and words in finding.message and "95 %" in finding.message for finding in found)
    assert LEAST_CONTROL_SHARE == 0.95


def test_the_bound_is_that_of_the_trials_made():
    """100 trials without a hit exclude 3 % (rule of three)."""
    (finding,) = detect_cache_sharing(asking(tally=SeriesTally(controls=25, control_hits=25, hits=99)))

    assert "100 trials" in finding.message
    assert "3.0%" in finding.message


@pytest.mark.parametrize("before", [SeriesTally(), SeriesTally(hits=9, shared=1)])
def test_one_account_may_share_its_own_cache(before: SeriesTally):
    """Two keys of one account: what would be a suspicion or a violation says nothing of isolation."""
    known = {number: frozenset({"openai-organization:sha256:11"}) for number in (1, 2)}
    history = a_history(mark(Arm.PRIME), series={SERIES: before}, cached_tokens_baseline=0, accounts=known)

    (finding,) = detect_cache_sharing(asking(cached=800, history=history))

    assert (finding.reason, finding.outcome) == (Reason.ONE_ACCOUNT, Outcome.INCONCLUSIVE)


def test_what_the_answer_itself_says_of_its_account_counts():
    """The first answer of the second tenant names the account of the first: in time for this very trial."""
    known = {2: frozenset({"openai-organization:sha256:11"})}
    history = a_history(mark(Arm.PRIME), series={SERIES: NOTHING}, cached_tokens_baseline=0, accounts=known)

    def found(organisation: str) -> Reason:
        observation = an_observation(
            usage=Usage(prompt_tokens=1_600, cached_tokens=800),
            timeline=Timeline(first_token=1.0),
            evidence_headers={"openai-organization": organisation},
        )
        (finding,) = detect_cache_sharing(asking(history=history, observation=observation))
        return finding.reason

    assert found("sha256:11") is Reason.ONE_ACCOUNT
    assert found("sha256:22") is Reason.CACHE_SHARED
