"""Which prompt lengths a scenario sends, from the limits that are known. Tokens throughout, as the server counts."""

import math
from collections.abc import Iterable

from prober.domain.probe import PromptSpec
from prober.domain.target import RESERVED_TOKENS, Ask
from prober.plan.stage import Stage
from prober.prompt.tokens import Calibration

SMALL_TOKENS = 2_048
"""A probe that costs next to nothing, and is far below every long-context limit."""

MAX_DONOR_TOKENS = 400_000
"""One donor prompt: large enough that a few fill a pool, small enough that two fit in flight."""

MAX_PARK_TOKENS = 400_000
"""Sent by default to evict a session; a larger pool takes a setting, since it costs as much on every run."""

MAX_STATED_LIMITS = 4
"""Limits read from refusals that a sweep follows up; a server that names more is echoing our own counts."""


LONGER_TIMES = 4

FACT_LINES = 4
"""Filler lines of the smallest prompt: room for one whole window of canary text, should it come out elsewhere."""


def size_of(spec: PromptSpec, calibration: Calibration) -> int:
    """Prompt tokens: as planned, or what the lines of a prompt cost that was planned by its lines, roughly."""
    if spec.tokens is not None:
        return spec.tokens
    lines = spec.filler_lines or 0
    counted = calibration.count(filler_lines=lines, instruction_lines=spec.instruction_lines)
    return math.ceil(counted + calibration.rough_offset(spec.ask))


def lines_within(tokens: int, calibration: Calibration, ask: Ask = Ask.ONE_FACT) -> int:
    """Filler lines of the longest prompt, planned by its lines, of about `tokens`; at least those of the smallest."""
    fixed = calibration.fixed_tokens + calibration.rough_offset(ask)
    return max(FACT_LINES, int((tokens - fixed) / calibration.line_tokens))


def baseline_tokens(stage: Stage) -> int:
    """Size of the baseline's large probes and of the anchors: must be served by any healthy target."""
    wanted = stage.settings.baseline_tokens
    if wanted is None:
        wanted = stage.target.first_rejected_tokens // 4
    return max(wanted, stage.calibration.smallest_tokens)


def small_tokens(stage: Stage) -> int:
    """Size of the baseline's small probes, at most its large size."""
    return min(baseline_tokens(stage), max(SMALL_TOKENS, stage.calibration.smallest_tokens))


def longer_tokens(stage: Stage) -> int:
    """A prompt several times longer than a small one, where so long a one is sure to be served."""
    sure = baseline_tokens(stage)
    if stage.target.prefill_pool_tokens is not None:
        sure = max(sure, stage.target.first_rejected_tokens // 2)
    return max(small_tokens(stage), min(sure, LONGER_TIMES * SMALL_TOKENS))


def evicting_tokens(stage: Stage) -> int:
    """Tokens of other text that push a prompt out of a cache as large as the pool known, or as the context window.

    A quarter more than that: eviction goes by last use, and what is in flight cannot be evicted.
    """
    return (stage.target.prefill_pool_tokens or stage.target.context_tokens) * 5 // 4


def park_tokens(stage: Stage) -> int:
    """Tokens of other text to send between parking a session and coming back to it."""
    return stage.settings.park_tokens or min(evicting_tokens(stage), MAX_PARK_TOKENS)


def donor_tokens(stage: Stage) -> int:
    """Size of one donor prompt. With the pool unknown only the baseline's size is sure to be served, hence to seed."""
    wanted = stage.settings.donor_tokens
    if wanted is None:
        wanted = min(stage.target.first_rejected_tokens // 2, MAX_DONOR_TOKENS)
        if stage.target.prefill_pool_tokens is None:
            wanted = min(wanted, baseline_tokens(stage))
    return max(wanted, stage.calibration.smallest_tokens)


def seed_tokens(stage: Stage, longest: int) -> int:
    """Canaried tokens to push through before an over-limit probe of `longest` tokens can show anything.

    A fresh decode pool of D tokens hands out untouched (zero) pages until `seeded + L > D`, and foreign pages only
    once `seeded >= L`: hence max(L, D - L). Source: SGLang's paged allocator in disaggregated mode (`need_sort`).
    """
    if stage.settings.seed_tokens is not None:
        return stage.settings.seed_tokens
    if stage.target.decode_pool_tokens is None:
        return 2 * stage.target.first_rejected_tokens
    return max(longest, stage.target.decode_pool_tokens - longest)


def roomy_tokens(stage: Stage) -> int:
    """Longest prompt below the context window that leaves room for a whole answer."""
    settings = stage.settings
    return stage.target.context_tokens - RESERVED_TOKENS - 1 - settings.over_limit_max_output_tokens


def over_limit_lengths(stage: Stage) -> tuple[int, ...]:
    """Lengths at which a healthy target might or must refuse, the most telling first.

    With a known pool: one page above the first rejected length, the middle of the window, then its edges. Without
    one: just inside the context window, since a prompt there overflows any smaller pool; then midpoints toward it.
    """
    target = stage.target
    context, first = target.context_tokens, target.first_rejected_tokens
    if target.prefill_pool_tokens is not None:
        middle = (first + context) // 2
        wanted = (first + target.page_tokens, middle, context + 1, first, context - 1)
        return _usable(stage, (length for length in wanted if length >= first))
    verified, roomy = baseline_tokens(stage), roomy_tokens(stage)
    middle = (verified + roomy) // 2
    inside = (length for length in (middle, (middle + roomy) // 2, context - 1) if length > verified)
    return _usable(stage, (max(roomy, verified + 1), context + 1, *inside))


def sweep_points(stage: Stage, stated: Iterable[int] = ()) -> tuple[int, ...]:
    """Lengths around each limit, the most telling first: known limits, then `stated` by refusals, then in between.

    Each limit is met one token below, at, and one token above; context and pool also one page below and above.
    """
    target = stage.target
    context, first, pool = target.context_tokens, target.first_rejected_tokens, target.prefill_pool_tokens
    roomy = roomy_tokens(stage)
    lower = first if pool is not None and pool < context else baseline_tokens(stage)
    named = [limit for limit in dict.fromkeys(stated) if limit <= 2 * context][:MAX_STATED_LIMITS]
    advertised = [context] if pool is None else [pool, context]
    limits = [first, *advertised, context - RESERVED_TOKENS]
    points = [first - 1, first, (lower + roomy) // 2, roomy, context - 1, context, context + 1]
    points += [limit + step for limit in named for step in (-1, 0, 1)]
    points += [limit + step for limit in limits for step in (-1, 0, 1)]
    points += [limit + step for limit in advertised for step in (-target.page_tokens, target.page_tokens)]
    points += [(3 * lower + roomy) // 4, (lower + 3 * roomy) // 4]
    return _usable(stage, points)


def _usable(stage: Stage, lengths: Iterable[int]) -> tuple[int, ...]:
    """Without repeats and without lengths too short to compose, in the given order."""
    return tuple(length for length in dict.fromkeys(lengths) if length >= stage.calibration.smallest_tokens)
