"""How many lines and pad words a prompt of a wished size holds, and how many tokens a given prompt will count."""

import bisect
import dataclasses
import math

from prober.domain.probe import PromptSpec
from prober.prompt.asking import ASKINGS
from prober.prompt.tokens import RESERVED_PAD_WORDS, Calibration
from prober.prompt.word_stream import SECTION_LINES


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """How much of each kind of line a prompt holds, next to its fixed lines."""

    filler_lines: int
    """Shared ones included."""
    instruction_lines: int
    """Between the sections of its own filler; shared text holds none."""
    pad_words: int
    """At least 1: an empty pad line would merge with the newline before it."""
    shared_lines: int = 0

    @property
    def own_lines(self) -> int:
        """Filler lines of the prompt's own canary stream."""
        return self.filler_lines - self.shared_lines


def instruction_lines_for(own_lines: int) -> int:
    """Inner instruction lines of a sized prompt: one between any two sections of at most 125 lines."""
    return max(0, math.ceil(own_lines / SECTION_LINES) - 1)


def structure_of(spec: PromptSpec, calibration: Calibration | None) -> Structure:
    """Settle lines and pad words: as `spec` says, or so that the count is `spec.tokens`.

    A calibration of another ask gives a size that is right up to some tokens (`Calibration.counts`).

    Raises:
        ValueError: The spec asks for both or neither, for a size without a calibration of its form, for less than the
            smallest size, for shared text of no lines, or for more pad words off than there are.
    """
    if (spec.tokens is None) == (spec.filler_lines is None):
        raise ValueError("a prompt spec needs either tokens or filler_lines")
    if spec.shared is not None and spec.shared.lines < 1:
        raise ValueError(f"shared text needs at least one line, not {spec.shared.lines}")
    structure = _given_structure(spec) if spec.tokens is None else _sized_structure(spec, spec.tokens, calibration)
    if structure.pad_words < 1:
        raise ValueError(f"pad_adjust {spec.pad_adjust} takes more pad words away than the prompt has")
    return structure


def predict(spec: PromptSpec, calibration: Calibration) -> int | None:
    """Predict `usage.prompt_tokens` of the text that `spec` composes; same errors as `structure_of`.

    None where the calibration does not hold for such a prompt: a count that is roughly right would read as wrong.
    Where lines are not uniform, `spec.pad_adjust` corrects a count already learned towards `spec.tokens`, hence does
    not move the prediction; where they are, it does.
    """
    structure = structure_of(spec, calibration)
    if not calibration.counts(spec):
        return None
    if spec.tokens is not None:
        return spec.tokens + (spec.pad_adjust if calibration.is_exact else 0)
    lines = calibration.count(filler_lines=structure.filler_lines, instruction_lines=structure.instruction_lines)
    return round(lines) + structure.pad_words - 1


def _shared_lines(spec: PromptSpec) -> int:
    return 0 if spec.shared is None else spec.shared.lines


def _given_structure(spec: PromptSpec) -> Structure:
    structure = Structure(
        filler_lines=spec.filler_lines or 0,
        instruction_lines=spec.instruction_lines,
        pad_words=1 + spec.pad_adjust,
        shared_lines=_shared_lines(spec),
    )
    own = structure.own_lines
    if not 0 <= spec.instruction_lines < own or own < ASKINGS[spec.ask].fewest_lines:
        raise ValueError(
            f"{own} filler lines{' beside the shared ones' if spec.shared else ''} cannot hold"
            f" {spec.instruction_lines} instruction lines between them"
        )
    return structure


def _sized_structure(spec: PromptSpec, tokens: int, calibration: Calibration | None) -> Structure:
    if calibration is None or calibration.form is not spec.form:
        raise ValueError(f"a prompt of {tokens} tokens needs a calibration for the form {spec.form.value}")
    if spec.instruction_lines:
        raise ValueError("instruction lines of a sized prompt follow from its size")
    sizes = _Sizes(spec, calibration)
    if tokens < sizes.smallest:
        raise ValueError(f"{tokens} tokens are too few: the smallest prompt here has {sizes.smallest}")
    lines = sizes.most_lines(tokens - sizes.reserve(tokens))
    return Structure(
        filler_lines=lines,
        instruction_lines=sizes.instruction_lines(lines),
        pad_words=1 + round(tokens - sizes.count(lines)) + spec.pad_adjust,
        shared_lines=_shared_lines(spec),
    )


class _Sizes:
    """What prompts of one spec count by their filler lines, shared ones included."""

    def __init__(self, spec: PromptSpec, calibration: Calibration) -> None:
        self._calibration = calibration
        self._shared = _shared_lines(spec)
        self._offset = calibration.rough_offset(spec.ask)
        self._fewest = ASKINGS[spec.ask].smallest_lines + self._shared
        self.smallest = calibration.smallest_of(spec.ask, self._shared)

    def instruction_lines(self, lines: int) -> int:
        return instruction_lines_for(lines - self._shared)

    def count(self, lines: int) -> float:
        """Tokens with a pad line of one word."""
        instructions = self.instruction_lines(lines)
        return self._offset + self._calibration.count(filler_lines=lines, instruction_lines=instructions)

    def reserve(self, tokens: int) -> int:
        """Pad words set aside for a shortening rewrite: half the tolerance where lines are not uniform."""
        if self._calibration.is_exact:
            return 0
        lines = self.most_lines(tokens - RESERVED_PAD_WORDS)
        return max(RESERVED_PAD_WORDS, self._calibration.tolerance(lines) // 2)

    def most_lines(self, budget: int) -> int:
        """Most filler lines whose prompt counts at most `budget`; never below the smallest prompt's."""
        candidates = range(self._fewest, max(self._fewest, budget) + 1)
        most = bisect.bisect_right(candidates, budget, key=lambda lines: math.ceil(self.count(lines)))
        return self._fewest + max(0, most - 1)
