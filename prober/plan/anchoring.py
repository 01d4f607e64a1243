"""Times prefills of a size that is verified, so that a later answer can be called too fast."""

from collections.abc import Generator

from prober.domain.evidence import Judgement, WaveEvidence
from prober.domain.probe import Role, Wave
from prober.plan.course import Course
from prober.plan.lengths import baseline_tokens


def anchor(course: Course) -> Generator[Wave, WaveEvidence, tuple[Judgement, ...]]:
    """Send the anchors one by one, so that none waits for another, by the donors, so that their text seeds too."""
    size = baseline_tokens(course.stage)
    received: list[Judgement] = []
    for number in range(course.stage.settings.anchor_probes):
        probe = course.draft(Role.ANCHOR, course.donor(number), size)
        received.extend((yield from course.send([probe], "time verified prefills")))
    return tuple(received)


def is_anchored(course: Course) -> bool:
    """True when the run already holds a full set of timings, as its latest judgement knew."""
    if not course.judgements:
        return False
    history = course.judgements[-1].evidence.history
    return any(len(timings) >= course.stage.settings.anchor_probes for timings in history.anchors.values())
