r"""Token counts without the tokenizer: newline-terminated lines are additive, so a few small calls give every size.

Measured on cl100k, o200k, DeepSeek and Anthropic tokenizers: joins of thousands of newline-terminated lines count
exactly the sum of their lines, whereas a space-joined stream does not; `" the" * j + "\n"` counts j + 1 tokens. Filler
words are one token each behind a space. Every prompt has the same fixed lines, so its count is
`fixed + lines * line + instructions * instruction + further pad words`.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from prober.domain.probe import PromptSpec
from prober.domain.target import Ask, TextForm
from prober.prompt.asking import ASKINGS, rough_fixed_tokens
from prober.prompt.word_stream import SECTION_LINES

RESERVED_PAD_WORDS = 64
"""Least pad words of a prompt whose lines are not uniform, so that a rewrite can also shorten it."""

TOLERANCE_TOKENS = 2
"""|usage - predicted| that chat templates may cost where lines are additive."""

_SHORT_LINES = 4
_LONG_LINES = {TextForm.WORD_STREAM: 30, TextForm.NUMBERED_LINES: 13}
"""Longest calibration prompt: it must fit a 1,024-token context where words or codes are not one token each."""

_UNKNOWNS = 3
_CHI_SQUARE_5_PERCENT = 1.1455
"""5 % quantile of chi-square with 8 - 3 degrees of freedom: few residuals may well understate a spread."""

_LEAST_SPREAD = 0.25
"""Tokens per line assumed where counts fit by chance although lines are not uniform."""

_SIGMAS = 4.0

_LARGEST_SPREAD = 0.5
"""Share of a line's tokens: residuals beyond it are no tokenizer's, but a call that was counted otherwise."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What text costs on one target, as its server counts. Holds for one LLM build and one chat template."""

    form: TextForm
    fixed_tokens: int
    """Chat template, first line, needles, closing question and a pad line of one word."""
    line_tokens: float
    """One filler line with its newline; the mean where lines differ."""
    instruction_tokens: float
    """One inner instruction line with its newline."""
    is_exact: bool
    """All calls agreed with whole numbers: every count is predicted to the token."""
    spread_tokens: float = 0.0
    """Standard deviation of one line's count (95 % upper bound), 0 where exact."""
    line_error_tokens: float = 0.0
    """Standard error of `line_tokens`, inner instructions included; grows with the lines, not with their root."""
    model_reported: str | None = None
    """The LLM name that answered the calibration calls."""
    ask: Ask | None = None
    """What the calibration prompts asked, which `fixed_tokens` holds for; None: taken for whatever is composed."""

    @property
    def smallest_tokens(self) -> int:
        """Size of the smallest prompt that can be composed for a wished count."""
        return self.smallest_of(self.ask or Ask.PHRASES_AND_COPY)

    def smallest_of(self, ask: Ask, shared_lines: int = 0) -> int:
        """Size of the smallest prompt of some ask that holds so many shared lines; roughly where not `counts`."""
        lines = ASKINGS[ask].smallest_lines + shared_lines
        reserve = 0 if self.is_exact else RESERVED_PAD_WORDS
        return math.ceil(self.count(filler_lines=lines, instruction_lines=0) + self.rough_offset(ask)) + reserve

    def counts(self, spec: PromptSpec) -> bool:
        """Tell whether it holds for such prompts: of the same form and ask."""
        return self.form is spec.form and self.ask in {None, spec.ask}

    def rough_offset(self, ask: Ask) -> int:
        """Tokens that the fixed lines of another ask count more, as words and marks; 0 where it is known to hold."""
        return 0 if self.ask is None else rough_fixed_tokens(ask) - rough_fixed_tokens(self.ask)

    def matches(self, model_reported: str | None) -> bool:
        """Tell whether it still holds: False once another LLM name answers, which asks for new calls."""
        return None in (self.model_reported, model_reported) or self.model_reported == model_reported

    def count(self, *, filler_lines: int, instruction_lines: int) -> float:
        """Prompt tokens with a pad line of one word."""
        return self.fixed_tokens + self.line_tokens * filler_lines + self.instruction_tokens * instruction_lines

    def tolerance(self, filler_lines: int) -> int:
        """|usage - predicted| that is still as predicted for so many lines: 2, and 4 sigma where not exact."""
        if self.is_exact:
            return TOLERANCE_TOKENS
        sigma = math.hypot(self.spread_tokens * math.sqrt(filler_lines), self.line_error_tokens * filler_lines)
        return TOLERANCE_TOKENS + math.ceil(_SIGMAS * sigma)


def calibration_specs(form: TextForm, ask: Ask = Ask.PHRASES_AND_COPY) -> tuple[PromptSpec, ...]:
    """Plan the calibration calls, one canary each: more calls than unknowns, so that they can disagree."""
    long = _LONG_LINES[form]
    middle = (long + _SHORT_LINES) // 2
    structures = (
        (_SHORT_LINES, 0),
        (long, 0),
        (middle, 1),
        (long, 2),
        (_SHORT_LINES, 1),
        (long, 0),
        (long, 1),
        (long, 3),
    )
    return tuple(
        PromptSpec(filler_lines=lines, instruction_lines=instructions, form=form, ask=ask)
        for lines, instructions in structures
    )


def calibrate(
    form: TextForm, prompt_tokens: Sequence[int], *, ask: Ask | None = None, model_reported: str | None = None
) -> Calibration:
    """Solve for the cost of each kind of line from the server's counts of `calibration_specs`, in their order.

    Whole-number agreement of all calls makes the calibration exact. Otherwise weighted least squares (the variance of
    a count grows with its lines) give means, a spread and the standard error of the slope.

    Raises:
        ValueError: The counts cannot come from an additive count of these prompts; the message says why.
    """
    specs = calibration_specs(form)
    if len(prompt_tokens) != len(specs):
        raise ValueError(f"{len(specs)} calibration calls are needed, {len(prompt_tokens)} were counted")
    if min(prompt_tokens) <= 0:
        raise ValueError("a calibration call counted no prompt tokens")
    solved = _solve_exactly(specs, prompt_tokens) or _fit(specs, prompt_tokens)
    return dataclasses.replace(solved, ask=ask, model_reported=model_reported)


def _solve_exactly(specs: Sequence[PromptSpec], counts: Sequence[int]) -> Calibration | None:
    """Whole numbers that all calls agree with, from the first three calls; None where there are none."""
    short, long, _, double = specs[:4]
    line, remainder = divmod(counts[1] - counts[0], _lines(long) - _lines(short))
    instruction, half = divmod(counts[3] - counts[1], double.instruction_lines)
    fixed = counts[0] - line * _lines(short)
    agree = all(
        count == fixed + line * _lines(spec) + instruction * spec.instruction_lines
        for spec, count in zip(specs, counts, strict=True)
    )
    if remainder or half or not agree:
        return None
    _check(specs[0].form, fixed, line, instruction)
    return Calibration(
        form=specs[0].form,
        fixed_tokens=fixed,
        line_tokens=float(line),
        instruction_tokens=float(instruction),
        is_exact=True,
    )


def _fit(specs: Sequence[PromptSpec], counts: Sequence[int]) -> Calibration:
    """Weighted least squares: Var(count) = spread^2 * lines."""
    lines = np.array([_lines(spec) for spec in specs], dtype=np.float64)
    rows = np.column_stack([np.ones_like(lines), lines, [spec.instruction_lines for spec in specs]])
    weighted = rows / np.sqrt(lines)[:, None]
    inverse = np.linalg.inv(weighted.T @ weighted)
    solution = inverse @ (weighted.T @ (np.array(counts, dtype=np.float64) / np.sqrt(lines)))
    squares = float((((np.array(counts) - rows @ solution) ** 2) / lines).sum())
    fixed, line, instruction = (float(value) for value in solution)
    _check(specs[0].form, fixed, line, instruction)
    if math.sqrt(squares / (len(specs) - _UNKNOWNS)) > _LARGEST_SPREAD * line:
        raise ValueError("the counts of the calibration calls do not add up: one was cut or counted otherwise")
    spread = max(_LEAST_SPREAD, math.sqrt(squares / _CHI_SQUARE_5_PERCENT))
    per_line = np.array([0.0, 1.0, 1.0 / SECTION_LINES])
    return Calibration(
        form=specs[0].form,
        fixed_tokens=round(fixed),
        line_tokens=line,
        instruction_tokens=instruction,
        is_exact=False,
        spread_tokens=spread,
        line_error_tokens=spread * math.sqrt(float(per_line @ inverse @ per_line)),
    )


def _check(form: TextForm, fixed: float, line: float, instruction: float) -> None:
    if line < 1:
        raise ValueError(f"prompt tokens do not grow with the prompt: {line:.2f} per line of {form.value} text")
    if fixed < 1 or instruction < 1:
        raise ValueError("the counts of the calibration calls do not add up: fixed lines would count nothing")


def _lines(spec: PromptSpec) -> int:
    return spec.filler_lines or 0
