"""Calibration: solving line costs from a few counts."""

import dataclasses

import pytest

from prober.domain.probe import PromptSpec
from prober.domain.target import Ask, TextForm
from prober.prompt.tokens import TOLERANCE_TOKENS, Calibration, calibrate, calibration_specs

WORDS = TextForm.WORD_STREAM
LINES = TextForm.NUMBERED_LINES


def additive(form: TextForm, *, fixed: int, line: int, instruction: int) -> list[int]:
    return [
        fixed + line * (spec.filler_lines or 0) + instruction * spec.instruction_lines
        for spec in calibration_specs(form)
    ]


@pytest.mark.parametrize("form", list(TextForm))
def test_additive_counts_are_solved_exactly(form: TextForm):
    """Counts of additive lines give the cost of each kind of line as whole numbers."""
    calibration = calibrate(form, additive(form, fixed=101, line=17, instruction=15), model_reported="glm")
    assert calibration == Calibration(
        form=form,
        fixed_tokens=101,
        line_tokens=17.0,
        instruction_tokens=15.0,
        is_exact=True,
        spread_tokens=0.0,
        model_reported="glm",
    )
    assert calibration.tolerance(60_000) == TOLERANCE_TOKENS
    assert calibration.smallest_tokens == 101 + 4 * 17


@pytest.mark.parametrize("form", list(TextForm))
def test_calibration_prompts_are_small_and_differ_in_both_unknowns(form: TextForm):
    """The calls fit a 1,024-token context and are more than the unknowns, with a repeated structure as a check."""
    structures = [(spec.filler_lines, spec.instruction_lines) for spec in calibration_specs(form)]
    assert all(spec.form is form and spec.tokens is None for spec in calibration_specs(form))
    assert max(lines for lines, _ in structures) <= 30
    assert len(structures) > len(set(structures)) > 3
    assert {instructions for _, instructions in structures} == {0, 1, 2, 3}


@pytest.mark.parametrize("call", range(8))
@pytest.mark.parametrize("error", [-1, 1])
def test_any_single_deviation_ends_exactness(call: int, error: int):
    """A count that is off by one token in any call makes the calibration inexact, never exact with a wrong slope."""
    counts = additive(WORDS, fixed=101, line=17, instruction=15)
    counts[call] += error
    calibration = calibrate(WORDS, counts)
    assert not calibration.is_exact
    assert calibration.spread_tokens >= 0.25
    assert calibration.line_tokens == pytest.approx(17, abs=0.2)
    assert calibration.tolerance(60_000) > calibration.tolerance(60) > TOLERANCE_TOKENS
    assert abs(60_000 * (calibration.line_tokens - 17)) < calibration.tolerance(60_000)


def test_fractional_lines_that_fit_are_not_called_exact():
    """Lines of 17.5 tokens fit no whole number, so the calibration says inexact and keeps a least spread."""
    counts = additive(WORDS, fixed=202, line=35, instruction=30)
    calibration = calibrate(WORDS, [count // 2 for count in counts])
    assert not calibration.is_exact
    assert calibration.line_tokens == pytest.approx(17.5, abs=0.05)


def test_inexact_calibration_needs_room_for_rewrites():
    """The smallest size of an inexact calibration includes the reserved pad words."""
    calibration = Calibration(
        form=LINES, fixed_tokens=100, line_tokens=40.25, instruction_tokens=15.0, is_exact=False, spread_tokens=2.0
    )
    assert calibration.smallest_tokens == 100 + 161 + 64
    assert calibration.tolerance(100) == 2 + 4 * 2 * 10


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ([100, 200], "8 calibration calls are needed, 2 were counted"),
        ([0] * 8, "counted no prompt tokens"),
        ([1] * 8, "do not grow with the prompt"),
        ([1, 2, 3, 4, 5, 6, 7, 8], "do not grow with the prompt"),
        (additive(WORDS, fixed=101, line=17, instruction=-2), "do not add up"),
        (additive(WORDS, fixed=-3, line=17, instruction=15), "do not add up"),
        ([169, 611, 405, 641, 184, 150, 626, 656], "one was cut or counted otherwise"),
    ],
)
def test_counts_that_cannot_be_additive_are_refused_with_a_reason(counts: list[int], reason: str):
    """Constant, missing, shrinking or contradictory counts raise ValueError with a plain reason."""
    with pytest.raises(ValueError, match=reason):
        calibrate(WORDS, counts)


@pytest.mark.parametrize(
    ("calibrated", "reported", "holds"),
    [(None, None, True), (None, "a", True), ("a", None, True), ("a", "a", True), ("a", "b", False)],
)
def test_calibration_holds_for_the_llm_that_answered(calibrated: str | None, reported: str | None, *, holds: bool):
    """A calibration stops matching once another LLM name answers; a name never reported proves nothing."""
    calibration = calibrate(WORDS, additive(WORDS, fixed=101, line=17, instruction=15), model_reported=calibrated)
    assert calibration.matches(reported) is holds


def test_a_calibration_remembers_what_its_prompts_asked():
    """Fixed lines hold for the ask they were counted with; where that is not told, they are taken for any."""
    counts = additive(WORDS, fixed=101, line=17, instruction=15)
    told, untold = calibrate(WORDS, counts, ask=Ask.END_PHRASE), calibrate(WORDS, counts)
    assert (told.ask, untold.ask) == (Ask.END_PHRASE, None)
    for ask in Ask:
        assert told.counts(PromptSpec(tokens=900, ask=ask)) is (ask is Ask.END_PHRASE)
        assert untold.counts(PromptSpec(tokens=900, ask=ask))
        assert untold.rough_offset(ask) == 0
    assert told.rough_offset(Ask.END_PHRASE) == 0
    assert told.rough_offset(Ask.ONE_FACT) < 0
    assert not told.counts(PromptSpec(tokens=900, ask=Ask.END_PHRASE, form=LINES))


def test_the_smallest_prompt_is_that_of_its_ask():
    """A short question needs one line of filler; shared lines come on top."""
    calibration = dataclasses.replace(
        calibrate(WORDS, additive(WORDS, fixed=101, line=17, instruction=15)), ask=Ask.ONE_FACT
    )
    assert calibration.smallest_tokens == 101 + 17
    assert calibration.smallest_of(Ask.ONE_FACT, 6) == 101 + 7 * 17
