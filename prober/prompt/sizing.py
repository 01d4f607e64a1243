"""How many lines and pad words a prompt of a wished size holds, and how many tokens a given prompt will count."""

import bisect
import dataclasses
import math

from prober.domain.probe import PromptSpec
from prober.prompt.tokens import RESERVED_PAD_WORDS, SMALLEST_LINES, Calibration
from prober.prompt.word_stream import SECTION_LINES

_FEWEST_LINES = 2
"""The middle needle stands between two filler lines."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """How much of each kind of line a prompt holds, next to its fixed lines."""

    filler_lines: int
    instruction_lines: int
    pad_words: int
    """At least 1: an empty pad line would merge with the newline before it."""


def instruction_lines_for(filler_lines: int) -> int:
    """Inner instruction lines of a sized prompt: one between any two sections of at most 125 lines."""
    return max(0, math.ceil(filler_lines / SECTION_LINES) - 1)


def structure_of(spec: PromptSpec, calibration: Calibration | None) -> Structure:
    """Settle lines and pad words: as `spec` says, or so that the count is `spec.tokens`.

    Raises:
        ValueError: The spec asks for both or neither, for a size without a calibration of its form, for less than the
            smallest size, or for more pad words off than there are.
    """
    if (spec.tokens is None) == (spec.filler_lines is None):
        raise ValueError("a prompt spec needs either tokens or filler_lines")
    structure = _given_structure(spec) if spec.tokens is None else _sized_structure(spec, spec.tokens, calibration)
    if structure.pad_words < 1:
        raise ValueError(f"pad_adjust {spec.pad_adjust} takes more pad words away than the prompt has")
    return structure


def predict(spec: PromptSpec, calibration: Calibration) -> int:
    """Predict `usage.prompt_tokens` of the text that `spec` composes; same errors as `structure_of`.

    Where lines are not uniform, `spec.pad_adjust` corrects a count already learned towards `spec.tokens`, hence does
    not move the prediction; where they are, it does.
    """
    structure = structure_of(spec, calibration)
    if spec.tokens is not None:
        return spec.tokens + (spec.pad_adjust if calibration.is_exact else 0)
    lines = calibration.count(filler_lines=structure.filler_lines, instruction_lines=structure.instruction_lines)
    return round(lines) + structure.pad_words - 1


def _given_structure(spec: PromptSpec) -> Structure:
    lines = spec.filler_lines or 0
    if not 0 <= spec.instruction_lines < lines or lines < _FEWEST_LINES:
        raise ValueError(f"{lines} filler lines cannot hold {spec.instruction_lines} instruction lines between them")
    return Structure(filler_lines=lines, instruction_lines=spec.instruction_lines, pad_words=1 + spec.pad_adjust)


def _sized_structure(spec: PromptSpec, tokens: int, calibration: Calibration | None) -> Structure:
    if calibration is None or calibration.form is not spec.form:
        raise ValueError(f"a prompt of {tokens} tokens needs a calibration for the form {spec.form.value}")
    if spec.instruction_lines:
        raise ValueError("instruction lines of a sized prompt follow from its size")
    if tokens < calibration.smallest_tokens:
        raise ValueError(f"{tokens} tokens are too few: the smallest prompt here has {calibration.smallest_tokens}")
    lines = _most_lines(calibration, tokens - _reserve(calibration, tokens))
    instructions = instruction_lines_for(lines)
    rest = tokens - calibration.count(filler_lines=lines, instruction_lines=instructions)
    return Structure(filler_lines=lines, instruction_lines=instructions, pad_words=1 + round(rest) + spec.pad_adjust)


def _reserve(calibration: Calibration, tokens: int) -> int:
    """Pad words set aside for a shortening rewrite: half the tolerance where lines are not uniform."""
    if calibration.is_exact:
        return 0
    lines = _most_lines(calibration, tokens - RESERVED_PAD_WORDS)
    return max(RESERVED_PAD_WORDS, calibration.tolerance(lines) // 2)


def _most_lines(calibration: Calibration, budget: int) -> int:
    """Most filler lines whose prompt counts at most `budget`; never below the smallest prompt's."""

    def count(lines: int) -> int:
        return math.ceil(calibration.count(filler_lines=lines, instruction_lines=instruction_lines_for(lines)))

    candidates = range(SMALLEST_LINES, max(SMALLEST_LINES, budget) + 1)
    return SMALLEST_LINES + max(0, bisect.bisect_right(candidates, budget, key=count) - 1)
