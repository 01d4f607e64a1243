"""One trial of cache sharing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.detect.cache_trial import base_tokens, is_cached, is_crossing, is_of_primed_text, signs, step_tokens
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence, History
from prober.domain.mark import AnswerMark
from prober.domain.observation import Timeline, Usage
from prober.domain.options import Arm, Trial
from prober.domain.probe import PromptSpec, SharedText
from prober.domain.series import SeriesTally
from prober.domain.target import TextForm
from prober.prompt.word_stream import WORDS_PER_LINE
from tests.support.evidence import (
    DONOR,
    a_history,
    a_mark,
    a_probe,
    a_prompt,
    an_evidence,
    an_observation,
    evidences,
)

SERIES = "cache_sharing/prefix/unsalted"


def trial(arm: Arm, number: int = 1) -> Trial:
    return Trial(series=SERIES, number=number, arm=arm)


def fellow(arm: Arm, tenant: int = 2, first_token: float | None = 9.0, number: int = 1) -> AnswerMark:
    return a_mark(tenant_number=tenant, trial=trial(arm, number), first_token_seconds=first_token)


def asking(
    arm: Arm,
    *fellows: AnswerMark,
    cached: int | None = None,
    first_token: float | None = 1.0,
    lines: int = 50,
    tokens: int = 1_600,
    **changes: object,
) -> Evidence:
    """Tenant 1 asks for 1,600 tokens in 100 lines, of which the first 50 are another tenant's."""
    spec = PromptSpec(filler_lines=100, shared=SharedText(source=DONOR, lines=lines))
    parts = {
        "probe": a_probe(prompt=spec, trial=trial(arm)),
        "prompt": a_prompt(planned_tokens=tokens, filler_words=100 * WORDS_PER_LINE),
        "observation": an_observation(
            usage=Usage(prompt_tokens=tokens, cached_tokens=cached), timeline=Timeline(first_token=first_token)
        ),
        "history": a_history(*fellows),
    }
    return an_evidence(**{**parts, **changes})


@pytest.mark.parametrize(
    ("spec", "is_primed"),
    [
        (PromptSpec(tokens=1), False),
        (PromptSpec(tokens=1, rewrite_of=DONOR), True),
        (PromptSpec(tokens=1, shared=SharedText(source=None, lines=1)), False),
        (PromptSpec(tokens=1, shared=SharedText(source=DONOR, lines=1)), True),
    ],
)
def test_text_of_an_earlier_canary_was_sent_before(spec: PromptSpec, *, is_primed: bool):
    """Replays, and prompts that hold somebody's shared text; whoever shares its own first has fresh text."""
    assert is_of_primed_text(an_evidence(probe=a_probe(prompt=spec))) is is_primed


@pytest.mark.parametrize(
    ("tokens", "lines", "step"),
    [(65_536, 50, 128), (1_600, 50, 128), (400, 50, 100), (160, 50, 40), (20, 50, 16), (1_600, 900, 128), (160, 0, 16)],
)
def test_the_step_is_half_of_what_is_shared_and_never_above_128(tokens: int, lines: int, step: int):
    """Small prompts share less than one step of a hosted cache, but at least half of it in whole pages."""
    assert step_tokens(asking(Arm.HIT, tokens=tokens, lines=lines)) == step


@given(page=st.sampled_from((16, 32, 64, 128)), shared=st.integers(16, 5_000))
def test_whole_pages_of_shared_text_always_reach_the_step(page: int, shared: int):
    """A cache in pages of any usual size reports a hit that counts, once a page is shared at all."""
    step = step_tokens(asking(Arm.HIT, tokens=2 * shared, lines=50))

    assert shared < page or shared // page * page >= step


@pytest.mark.parametrize(
    "parts",
    [
        {"probe": a_probe(trial=trial(Arm.HIT))},
        {"prompt": a_prompt(planned_tokens=None), "observation": an_observation(usage=Usage())},
        {"prompt": a_prompt(filler_words=0)},
    ],
)
def test_without_shared_text_or_a_count_there_is_no_step(parts: dict[str, object]):
    """Nothing can then be told from the cached tokens."""
    evidence = asking(Arm.HIT, **parts)

    assert step_tokens(evidence) is None
    assert is_cached(evidence, trial(Arm.HIT)) is None


def test_numbered_lines_count_one_item_each():
    """The share of lines is the share of tokens in either text form."""
    spec = PromptSpec(filler_lines=100, form=TextForm.NUMBERED_LINES, shared=SharedText(source=DONOR, lines=5))
    evidence = asking(
        Arm.HIT, probe=a_probe(prompt=spec), prompt=a_prompt(planned_tokens=2_000, filler_words=100), tokens=2_000
    )

    assert step_tokens(evidence) == 50


@pytest.mark.parametrize(
    ("history", "base"),
    [
        (History(), None),
        (History(probes=3), 0),
        (History(cached_tokens_baseline=64), 64),
        (History(cached_tokens_baseline=64, series={SERIES: SeriesTally(miss_cached=90)}), 90),
        (History(series={SERIES: SeriesTally(miss_cached=90)}), 90),
        (History(probes=9, series={SERIES: SeriesTally()}), 0),
        (History(probes=9, series={"other": SeriesTally(miss_cached=90)}), 0),
    ],
)
def test_the_base_is_the_most_that_fresh_text_reports(history: History, base: int | None):
    """An endpoint that leaves zeros out reports none for its first probes; until then nothing is known."""
    assert base_tokens(asking(Arm.HIT, history=history), trial(Arm.HIT)) == base


@pytest.mark.parametrize(
    ("cached", "base", "answer", "is_hit"),
    [
        (800, 0, Answer.SERVED_FULL, True),
        (128, 0, Answer.SERVED_FULL, True),
        (127, 0, Answer.SERVED_FULL, False),
        (200, 100, Answer.SERVED_FULL, False),
        (228, 100, Answer.SERVED_FULL, True),
        (None, 0, Answer.SERVED_FULL, False),
        (1_599, 0, Answer.SERVED_FULL, False),
        (800, 0, Answer.BUSY, None),
    ],
)
def test_a_hit_is_one_step_above_the_base(cached: int | None, base: int, answer: Answer, *, is_hit: bool | None):
    """Zero tolerance; counts that healthy servers make up (prompt less one) are none."""
    evidence = asking(Arm.HIT, cached=cached, answer=answer, history=History(cached_tokens_baseline=base))

    assert is_cached(evidence, trial(Arm.HIT)) is is_hit


@pytest.mark.parametrize(
    ("arm", "fellows", "crosses"),
    [
        (Arm.HIT, (fellow(Arm.PRIME),), True),
        (Arm.CHECK, (fellow(Arm.PRIME),), True),
        (Arm.HIT, (fellow(Arm.PRIME), fellow(Arm.MISS, tenant=1)), True),
        (Arm.HIT, (fellow(Arm.PRIME), fellow(Arm.PRIME, tenant=1)), False),
        (Arm.HIT, (fellow(Arm.PRIME), fellow(Arm.HIT, tenant=1)), False),
        (Arm.HIT, (), False),
        (Arm.HIT, (fellow(Arm.PRIME, number=2),), False),
        (Arm.HIT, (a_mark(),), False),
        (Arm.CONTROL, (fellow(Arm.PRIME),), False),
        (Arm.MISS, (fellow(Arm.PRIME),), False),
    ],
)
def test_only_text_that_others_alone_have_sent_crosses(arm: Arm, fellows: tuple[AnswerMark, ...], *, crosses: bool):
    """What a tenant sent itself may be cached for it by right."""
    assert is_crossing(asking(arm, *fellows), trial(arm)) is crosses


def test_fresh_text_crosses_nothing():
    """A probe of arm HIT that shares nothing was drafted wrongly, and accuses nobody."""
    evidence = asking(Arm.HIT, fellow(Arm.PRIME), probe=a_probe(trial=trial(Arm.HIT)))

    assert not is_crossing(evidence, trial(Arm.HIT))


@pytest.mark.parametrize(
    ("arm", "fellows", "pairs"),
    [
        (Arm.HIT, (fellow(Arm.MISS),), [(Arm.HIT, True)]),
        (Arm.HIT, (fellow(Arm.MISS, first_token=0.5),), [(Arm.HIT, False)]),
        (Arm.CONTROL, (fellow(Arm.MISS),), [(Arm.CONTROL, True)]),
        (Arm.MISS, (fellow(Arm.HIT),), [(Arm.HIT, False)]),
        (Arm.MISS, (fellow(Arm.HIT, first_token=0.5), fellow(Arm.CONTROL)), [(Arm.HIT, True), (Arm.CONTROL, False)]),
        (Arm.HIT, (fellow(Arm.MISS, first_token=1.0),), []),
        (Arm.HIT, (fellow(Arm.MISS, first_token=None),), []),
        (Arm.HIT, (fellow(Arm.MISS, number=2),), []),
        (Arm.HIT, (fellow(Arm.MISS), fellow(Arm.HIT)), []),
        (Arm.PRIME, (fellow(Arm.MISS),), []),
        (Arm.HIT, (), []),
    ],
)
def test_pairs_are_signs_within_one_trial(arm: Arm, fellows: tuple[AnswerMark, ...], pairs: list[tuple[Arm, bool]]):
    """Ties and unknown times make no pair, and each trial gives one at most."""
    assert list(signs(asking(arm, *fellows), trial(arm))) == pairs


@pytest.mark.parametrize(
    "parts",
    [
        {"answer": Answer.BUSY},
        {"observation": an_observation(timeline=Timeline(first_token=1.0), is_stream=False)},
        {"observation": an_observation(timeline=Timeline(first_token=1.0, loop_lag_seconds=0.1))},
        {"first_token": None},
    ],
)
def test_times_that_prove_nothing_make_no_pair(parts: dict[str, object]):
    """Not served, not streamed, measured late, or no token at all."""
    assert list(signs(asking(Arm.HIT, fellow(Arm.MISS), **parts), trial(Arm.HIT))) == []


@pytest.mark.no_coverage
@settings(max_examples=100, derandomize=True, deadline=None)
@given(evidence=evidences())
def test_trials_are_total(evidence: Evidence):
    """Any evidence of any arm has an answer to each question."""
    for arm in Arm:
        asked = trial(arm)
        assert is_cached(evidence, asked) in {True, False, None}
        assert is_crossing(evidence, asked) in {True, False}
        assert len(list(signs(evidence, asked))) <= 2
