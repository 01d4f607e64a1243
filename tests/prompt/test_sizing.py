"""Lines and pad words of a wished size."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.probe import PromptSpec, SharedText
from prober.domain.target import Ask, TextForm
from prober.prompt.asking import rough_fixed_tokens
from prober.prompt.sizing import Structure, instruction_lines_for, predict, structure_of
from prober.prompt.tokens import RESERVED_PAD_WORDS, Calibration

EXACT = Calibration(
    form=TextForm.WORD_STREAM, fixed_tokens=90, line_tokens=17.0, instruction_tokens=15.0, is_exact=True
)
UNEVEN = Calibration(
    form=TextForm.WORD_STREAM,
    fixed_tokens=95,
    line_tokens=18.3,
    instruction_tokens=15.4,
    is_exact=False,
    spread_tokens=1.5,
    line_error_tokens=0.05,
)


@settings(max_examples=200, derandomize=True)
@given(tokens=st.integers(EXACT.smallest_tokens, 1_100_000))
def test_exact_sizes_are_met_by_lines_and_fewest_pads(tokens: int):
    """Lines, instruction lines and pad words add up to the size, with pad words for less than one more section."""
    structure = structure_of(PromptSpec(tokens=tokens), EXACT)
    counted = 90 + 17 * structure.filler_lines + 15 * structure.instruction_lines + structure.pad_words - 1
    assert counted == tokens == predict(PromptSpec(tokens=tokens), EXACT)
    assert 1 <= structure.pad_words <= 17 + 15
    assert structure.instruction_lines == instruction_lines_for(structure.filler_lines)


@settings(max_examples=100, derandomize=True)
@given(tokens=st.integers(UNEVEN.smallest_tokens, 1_100_000))
def test_uneven_sizes_keep_room_for_shorter_rewrites(tokens: int):
    """Where lines are not uniform, at least the reserved pad words stand in the text and half the tolerance."""
    structure = structure_of(PromptSpec(tokens=tokens), UNEVEN)
    expected = UNEVEN.count(filler_lines=structure.filler_lines, instruction_lines=structure.instruction_lines)
    assert expected + structure.pad_words - 1 == pytest.approx(tokens, abs=0.51)
    assert structure.pad_words > RESERVED_PAD_WORDS
    assert structure.filler_lines == 4 or structure.pad_words > UNEVEN.tolerance(structure.filler_lines) // 2


@pytest.mark.parametrize(("lines", "expected"), [(4, 0), (125, 0), (126, 1), (250, 1), (251, 2), (62_500, 499)])
def test_instruction_lines_stand_between_sections_of_at_most_125_lines(lines: int, expected: int):
    """A prompt has one instruction line fewer than sections."""
    assert instruction_lines_for(lines) == expected


def test_given_structure_is_taken_as_it_is():
    """A calibration spec's lines are kept, its pad adjusted, and its count predicted."""
    spec = PromptSpec(filler_lines=8, instruction_lines=2, pad_adjust=3)
    assert structure_of(spec, None) == Structure(filler_lines=8, instruction_lines=2, pad_words=4)
    assert predict(spec, EXACT) == 90 + 8 * 17 + 2 * 15 + 3


@pytest.mark.parametrize(("calibration", "planned"), [(EXACT, 1_007), (UNEVEN, 1_000)])
def test_pad_adjust_moves_an_exact_count_and_corrects_an_uneven_one(calibration: Calibration, planned: int):
    """Pad words move the prediction where it is exact; elsewhere they bring the learned count to the wished size."""
    spec = PromptSpec(tokens=1_000, pad_adjust=7)
    plain = structure_of(PromptSpec(tokens=1_000), calibration)
    assert structure_of(spec, calibration) == Structure(
        filler_lines=plain.filler_lines, instruction_lines=plain.instruction_lines, pad_words=plain.pad_words + 7
    )
    assert predict(spec, calibration) == planned


@pytest.mark.parametrize(
    ("spec", "calibration", "reason"),
    [
        (PromptSpec(), EXACT, "either tokens or filler_lines"),
        (PromptSpec(tokens=500, filler_lines=4), EXACT, "either tokens or filler_lines"),
        (PromptSpec(tokens=500), None, "needs a calibration for the form word_stream"),
        (PromptSpec(tokens=500, form=TextForm.NUMBERED_LINES), EXACT, "form numbered_lines"),
        (PromptSpec(tokens=500, instruction_lines=1), EXACT, "follow from its size"),
        (PromptSpec(tokens=157), EXACT, "157 tokens are too few: the smallest prompt here has 158"),
        (PromptSpec(tokens=1), UNEVEN, "the smallest prompt here has 233"),
        (PromptSpec(filler_lines=1), EXACT, "1 filler lines cannot hold 0"),
        (PromptSpec(filler_lines=4, instruction_lines=4), EXACT, "cannot hold 4"),
        (PromptSpec(filler_lines=4, instruction_lines=-1), EXACT, "cannot hold -1"),
        (PromptSpec(filler_lines=0, ask=Ask.ONE_FACT), EXACT, "0 filler lines cannot hold 0"),
        (PromptSpec(filler_lines=4, shared=SharedText(source=None, lines=0)), EXACT, "at least one line, not 0"),
        (
            PromptSpec(filler_lines=4, shared=SharedText(source=None, lines=3)),
            EXACT,
            "1 filler lines beside the shared",
        ),
        (PromptSpec(filler_lines=4, shared=SharedText(source=None, lines=5)), EXACT, "-1 filler lines beside"),
        (PromptSpec(tokens=209, shared=SharedText(source=None, lines=4)), EXACT, "the smallest prompt here has 226"),
        (PromptSpec(filler_lines=4, pad_adjust=-1), EXACT, "takes more pad words away"),
        (PromptSpec(tokens=5_000, pad_adjust=-5_000), UNEVEN, "takes more pad words away"),
    ],
)
def test_specs_that_cannot_be_met_are_refused_with_a_reason(
    spec: PromptSpec, calibration: Calibration | None, reason: str
):
    """A contradictory, too small or over-shortened spec raises ValueError that says what would do."""
    with pytest.raises(ValueError, match=reason):
        structure_of(spec, calibration)


@pytest.mark.parametrize("calibration", [EXACT, UNEVEN])
def test_the_smallest_size_can_be_composed(calibration: Calibration):
    """The smallest size itself is met, with the fewest lines."""
    structure = structure_of(PromptSpec(tokens=calibration.smallest_tokens), calibration)
    assert structure.filler_lines == 4


SHARED = SharedText(source=None, lines=130)


@settings(max_examples=100, derandomize=True)
@given(tokens=st.integers(EXACT.smallest_of(Ask.PHRASES_AND_COPY, 130), 200_000))
def test_shared_lines_count_among_the_filler_lines(tokens: int):
    """Sizes are met with shared lines, which hold no instruction lines; own lines are never fewer than four."""
    structure = structure_of(PromptSpec(tokens=tokens, shared=SHARED), EXACT)
    counted = 90 + 17 * structure.filler_lines + 15 * structure.instruction_lines + structure.pad_words - 1
    assert counted == tokens == predict(PromptSpec(tokens=tokens, shared=SHARED), EXACT)
    assert structure.shared_lines == 130
    assert structure.own_lines >= 4
    assert structure.instruction_lines == instruction_lines_for(structure.own_lines)


@pytest.mark.parametrize("ask", list(Ask))
def test_another_ask_is_sized_by_words_and_marks(ask: Ask):
    """What another ask's fixed lines count is estimated, and such a count is not predicted; its own is."""
    calibration = dataclasses.replace(EXACT, ask=Ask.PHRASES_AND_COPY)
    structure = structure_of(PromptSpec(tokens=1_000, ask=ask), calibration)
    fixed = 90 + rough_fixed_tokens(ask) - rough_fixed_tokens(Ask.PHRASES_AND_COPY)
    lines = 17 * structure.filler_lines + 15 * structure.instruction_lines
    assert fixed + lines + structure.pad_words - 1 == 1_000
    expected = 1_000 if ask is Ask.PHRASES_AND_COPY else None
    assert predict(PromptSpec(tokens=1_000, ask=ask), calibration) == expected


def test_a_count_of_another_form_is_not_predicted():
    """Lines of one form tell nothing of the other's."""
    assert predict(PromptSpec(filler_lines=5, form=TextForm.NUMBERED_LINES), EXACT) is None
