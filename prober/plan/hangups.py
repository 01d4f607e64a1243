"""When to hang up on purpose: sweeps over delays, scaled to how quick the target is."""

import dataclasses
from collections.abc import Iterable

from prober.domain.evidence import Judgement
from prober.domain.probe import Disconnect, DisconnectMoment

LEAST_SECONDS = 1e-3
MOST_SECONDS = 10.0
"""Delays that upstream's reports span: a reply left on a connection after a few milliseconds (redis-py #2624), pages
freed 0.03 s after an abort and written for 3.5 s more (SGLang #35049), time-outs of seconds."""

SMALLEST_SHARE, LARGEST_SHARE = 0.05, 0.9
"""Of a phase whose duration is known: hanging up earlier or later would often miss it."""

MOMENTS = (DisconnectMoment.MID_PREFILL, DisconnectMoment.MID_STREAM, DisconnectMoment.BEFORE_HEADERS)

_GOLDEN = 0.6180339887498949
"""Multiples of it, modulo 1, fill an interval evenly however many they are (Weyl's sequence of the golden ratio)."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Lifetime:
    """How long an undisturbed answer takes, in seconds from the start of its request; None: not known."""

    first_token: float | None = None
    end: float | None = None


def lifetime(judgements: Iterable[Judgement]) -> Lifetime:
    """Take the quickest of the answers that were served and timed."""
    timelines = [judgement.evidence.observation.timeline for judgement in judgements if _is_served(judgement)]
    return Lifetime(
        first_token=min((timeline.first_token for timeline in timelines if timeline.first_token), default=None),
        end=min((timeline.end for timeline in timelines if timeline.end), default=None),
    )


def delay(number: int, low: float, high: float) -> float:
    """Return a delay of a sweep that is even on a logarithmic scale from `low` to `high` seconds.

    However many of its numbers, from 0 on, are taken: they cover the whole range, from its middle outward.
    """
    return float(low * (high / low) ** ((0.5 + number * _GOLDEN) % 1.0))


def early_hang_up(number: int, life: Lifetime, most_seconds: float = MOST_SECONDS) -> Disconnect:
    """Plan the hang-up with this number, before the headers came: from 1 ms on, up to the usual first token."""
    high = min(most_seconds, LARGEST_SHARE * life.first_token if life.first_token else most_seconds)
    low = min(LEAST_SECONDS, SMALLEST_SHARE * high)
    return Disconnect(moment=DisconnectMoment.BEFORE_HEADERS, after_seconds=delay(number, low, high))


def hang_up(moment: DisconnectMoment, number: int, life: Lifetime) -> Disconnect:
    """Plan the hang-up with this number, from 0 on, of a sweep at one moment of a request's life (not AFTER_TOKENS).

    Delays are shares of the phase that they shall hit; of an unknown one they are 1 ms to 10 s.
    """
    if moment is DisconnectMoment.BEFORE_HEADERS:
        return early_hang_up(number, life)
    phase = life.first_token
    if moment is DisconnectMoment.MID_STREAM and phase is not None:
        phase = life.end - phase if life.end is not None and life.end > phase else None
    low, high = (LEAST_SECONDS, MOST_SECONDS) if phase is None else (SMALLEST_SHARE * phase, LARGEST_SHARE * phase)
    return Disconnect(moment=moment, after_seconds=delay(number, low, high))


def due_seconds(disconnect: Disconnect, life: Lifetime) -> float:
    """Seconds from the request's start until a planned hang-up is to be expected."""
    is_late = disconnect.moment is DisconnectMoment.MID_STREAM
    return disconnect.after_seconds + ((life.first_token or 0.0) if is_late else 0.0)


def _is_served(judgement: Judgement) -> bool:
    return judgement.evidence.answer.is_served
