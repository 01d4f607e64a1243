"""The least time in which a prompt can have been read: what an honest prefill cannot beat."""

import dataclasses
from collections.abc import Mapping

from prober.domain.target import PhysicalBound

SLACK = 0.4
"""Share of the linearly scaled anchor that is still believed.

On resampled timings of real endpoints: with k = 10 anchors no false alarm in 36,000 honest trials (95 % bound 8.3e-5),
1.2 % of skipped prefills missed; with k = 5, 1.9e-4.
"""

LEAST_TIMINGS = 3
"""Anchor timings below which no floor is claimed: a single one false-alarms in 2-3 % of honest trials."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """A first token earlier than this, counted from request start, was not preceded by an honest prefill."""

    seconds: float
    anchor_tokens: int | None
    """Size of the verified timings it scales; None: the physical bound alone."""


def physical_seconds(bound: PhysicalBound, tokens: int) -> float:
    """Least prefill time at the hardware's peak: 2 * active parameters * tokens / (gpus * peak) * time scale.

    Two floating-point operations per active parameter and token; attention, which only adds, is left out.
    """
    return 2.0 * bound.active_parameters * tokens / (bound.gpus * bound.peak_flops_per_gpu) * bound.time_scale


def anchored_seconds(*, ratio: float, anchor_seconds: float, fixed_seconds: float) -> float:
    """Believed share of the least time for a prompt `ratio` >= 1 times as long as a verified one.

    With T(n) = a + g(n), where the prefill g costs no less per token as n grows: T(ratio * n0) >= a + ratio *
    (T(n0) - a). That falls as a grows, so any overestimate of a (here `fixed_seconds`, at most `anchor_seconds`) keeps
    it a lower bound; a = 0 gives 0.4 * ratio * T(n0). No fitted curve: a regression with a threshold at one half
    false-alarms in 1.7-5 % of honest trials.
    """
    fixed = min(fixed_seconds, anchor_seconds)
    return SLACK * (fixed + ratio * (anchor_seconds - fixed))


def floor_for(
    tokens: int,
    *,
    anchors: Mapping[int, tuple[float, ...]],
    fixed_seconds: float | None,
    bound: PhysicalBound | None,
) -> Floor | None:
    """Highest floor that can be claimed for a prompt of `tokens`; None when nothing can be.

    `anchors` maps a size in tokens to first-token seconds of sound answers; the largest size below `tokens` with at
    least LEAST_TIMINGS timings is scaled. `fixed_seconds` is what the quickest sound answer took, whatever its size:
    an overestimate of the cost that does not grow with the prompt; None: nothing known, as slow as the anchor.
    Where no anchor serves, only the physical bound, if set, is claimed.
    """
    candidates = []
    usable = [size for size, timings in anchors.items() if size < tokens and len(timings) >= LEAST_TIMINGS]
    if usable:
        size = max(usable)
        quickest = min(anchors[size])
        seconds = anchored_seconds(
            ratio=tokens / size,
            anchor_seconds=quickest,
            fixed_seconds=quickest if fixed_seconds is None else fixed_seconds,
        )
        candidates.append(Floor(seconds=seconds, anchor_tokens=size))
    if bound is not None:
        candidates.append(Floor(seconds=physical_seconds(bound, tokens), anchor_tokens=None))
    return max(candidates, key=lambda floor: floor.seconds, default=None)
