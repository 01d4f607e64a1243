"""Groups probes into waves that the target, and every proxy on the way, can stand."""

from collections.abc import Iterable, Iterator, Sequence

from prober.domain.probe import Probe, Wave
from prober.plan.lengths import size_of
from prober.prompt.tokens import Calibration

MAX_WAVE_PROBES = 2
"""Long prompts are megabytes each, here and in every proxy on the way."""

MAX_WAVE_TOKENS = 3_000_000

MAX_CROWD_TOKENS = 400_000
"""Of a wave of more than `MAX_WAVE_PROBES`: many are sent together for their number, not for their length."""


def pack(
    probes: Iterable[Probe], purpose: str, calibration: Calibration, most: int = MAX_WAVE_PROBES
) -> Iterator[Wave]:
    """Group probes into waves, in order: at most `most`, at most 3M prompt tokens, an over-limit one always alone."""
    group: list[Probe] = []
    for probe in probes:
        if group and not _fits((*group, probe), calibration, most):
            yield Wave(probes=tuple(group), purpose=purpose)
            group = []
        group.append(probe)
    if group:
        yield Wave(probes=tuple(group), purpose=purpose)


def _fits(group: Sequence[Probe], calibration: Calibration, most: int) -> bool:
    if len(group) > most or any(member.is_over_limit for member in group):
        return False
    tokens = sum(size_of(member.prompt, calibration) for member in group)
    return tokens <= (MAX_WAVE_TOKENS if len(group) <= MAX_WAVE_PROBES else MAX_CROWD_TOKENS)
