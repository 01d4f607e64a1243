"""Times prefills of a size that is verified, so that a later answer can be called too fast."""

from collections.abc import Generator

from prober.domain.evidence import Judgement, WaveEvidence
from prober.domain.probe import Role, Wave
from prober.plan.course import Course
from prober.plan.lengths import baseline_tokens
from prober.stats.prefill import LEAST_TIMINGS


def anchor(course: Course) -> Generator[Wave, WaveEvidence, tuple[Judgement, ...]]:
    """Send the anchors one by one, so that none waits for another, by the donors, so that their text seeds too."""
    return (yield from _time(course, course.stage.settings.anchor_probes))


def anchor_again(course: Course) -> Generator[Wave, WaveEvidence, tuple[Judgement, ...]]:
    """Time prefills once more, as things are now: the first anchors may all have met one slow spell of the target.

    Timings count as independent in the floor's error rate, and a spell that outlasts the anchors makes them all slow
    together; what is quick after it is then no sign of anything.
    """
    return (yield from _time(course, LEAST_TIMINGS))


def _time(course: Course, count: int) -> Generator[Wave, WaveEvidence, tuple[Judgement, ...]]:
    size = baseline_tokens(course.stage)
    received: list[Judgement] = []
    for number in range(count):
        probe = course.draft(Role.ANCHOR, course.donor(number), size)
        received.extend((yield from course.send([probe], "time verified prefills")))
    return tuple(received)


def is_anchored(course: Course) -> bool:
    """True when the run already holds a full set of timings, as its latest judgement knew."""
    if not course.judgements:
        return False
    history = course.judgements[-1].evidence.history
    return any(len(timings) >= course.stage.settings.anchor_probes for timings in history.anchors.values())
