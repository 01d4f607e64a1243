"""Figures as people say them, the same in every format."""

from prober.domain.outcome import Outcome
from prober.domain.verdict import Spending, Verdict

_LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_MOST_BITS = 60.0

MEANINGS = {
    Outcome.VIOLATION: "isolation is broken, or the contract for over-long prompts is",
    Outcome.SUSPECT: "something points to a fault, and is not proved",
    Outcome.INCONCLUSIVE: "not everything could be judged; this is no clean result",
    Outcome.CLEAN: "everything was judged, and nothing was found",
}


def counted(number: int, noun: str) -> str:
    """Put a number before its noun: `1 probe`, `1,024 probes`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def spending_words(spending: Spending) -> str:
    """Spending as people say it: `12 requests, 3,456,789 tokens`."""
    return f"{counted(spending.requests, 'request')}, {counted(spending.tokens, 'token')}"


def count_words(verdict: Verdict) -> str:
    """Say how many probes stand behind a verdict."""
    return f"{counted(verdict.probes, 'probe')}, {verdict.conclusive:,} conclusive, {verdict.clean:,} clean"


def bound_words(verdict: Verdict) -> str:
    """Say what a run without a violation excludes; empty where it excludes nothing."""
    if verdict.leak_rate_upper95 is None:
        return ""
    return f"leak rate per probe below {verdict.leak_rate_upper95:.2%} with 95 % confidence"


def certainty(bits: float) -> str:
    """Say in bits and in words how sure an attribution is; empty where bits do not measure it.

    Bits are log2 of 1 / (bound on a false attribution), for one answer.
    """
    if bits <= 0.0:
        return ""
    if bits >= _MOST_BITS:
        return f"{bits:.1f} bits: chance explains it in less than one of a million trillion answers"
    once_in = 2.0**bits
    for size, name in _LARGE:
        if once_in >= size:
            return f"{bits:.1f} bits: chance explains it in at most one of {once_in / size:,.0f} {name} answers"
    return f"{bits:.1f} bits: chance explains it in at most one of {once_in:,.0f} answers"


def seconds_words(seconds: float | None) -> str:
    """`0.120 s`, `12.3 s`; empty where it is not known."""
    if seconds is None:
        return ""
    return f"{seconds:.3f} s" if seconds < 10.0 else f"{seconds:,.1f} s"  # noqa: PLR2004 - three digits that tell
