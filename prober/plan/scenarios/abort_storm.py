"""Clients of one tenant hang up at every moment of a request's life; whoever comes next gets what they let go of."""

import dataclasses
import functools
from collections.abc import Generator

from prober.domain.evidence import WaveEvidence
from prober.domain.fault_kind import FaultKind
from prober.domain.probe import Probe, Role, Wave
from prober.plan.confirm import confirm
from prober.plan.course import Course, Step
from prober.plan.hangups import MOMENTS, Lifetime, due_seconds, hang_up, lifetime
from prober.plan.lengths import longer_tokens, small_tokens
from prober.plan.stage import Stage, Waves, scenario

ABORTED_SHARE = 3 / 8
"""Of a storm's probes hang up: one long one, whose pages are enough for all victims, and others of the small size."""

BESIDE_SHARE = 0.25
"""Of the time until the first hang-up: late enough not to come before what is aborted."""

SHORT_SHARE = 4
"""Of the small size: a victim of several pages that is still written and read in a moment."""


@scenario(FaultKind.LIVE_WRITER, FaultKind.STALE_STATE, FaultKind.PROTOCOL_LIE)
def abort_storm(stage: Stage) -> Waves:
    """Time what nobody hangs up on; then, round by round, hang up on long and short prompts while victims come.

    Victims are other tenants'. One of equal size stands beside the storm, others come at the very moment of the long
    prompt's hang-up: short ones, for pages that still have a writer, and the smallest, for state that nobody cleared.
    Another one of these comes right after the storm.
    """
    storm = _Storm(Course("abort_storm", stage))
    yield from storm.measure()
    for number in storm.course.rounds():
        received = yield from storm.play(number, Role.CHECK)
        yield from confirm(storm.course, received, functools.partial(storm.play, number))
    return storm.course.shortfall()


class _Storm:
    """Who is aborted and who suffers: as many together as may be in flight."""

    def __init__(self, course: Course) -> None:
        self.course = course
        concurrency = course.stage.settings.concurrency
        self.aborted = max(1, int(concurrency * ABORTED_SHARE))
        self.victims = concurrency - self.aborted
        self.small, self.longer = small_tokens(course.stage), longer_tokens(course.stage)
        self.lives: dict[int, Lifetime] = {}

    def measure(self) -> Generator[Wave, WaveEvidence, None]:
        """Time one prompt of each size by itself: under load all takes longer, and a hang-up still comes in time."""
        for number, size in enumerate((self.small, self.longer)):
            probe = self.course.draft(Role.REFERENCE, self.course.donor(number), size)
            timed = yield from self.course.send([probe], "time a prompt that nobody hangs up on")
            self.lives[size] = lifetime(timed)

    def play(self, number: int, role: Role) -> Step:
        """Play one round: the storm with victims in it, victims right after it, and a plain prompt at its end."""
        course = self.course
        sizes = [self.longer] + [self.small] * (self.aborted - 1)
        aborted = [self._hanging_up(number, turn, size) for turn, size in enumerate(sizes)]
        due = self._due(aborted[0])
        beside = self._victim(number, role, 0, due * BESIDE_SHARE)
        others = [self._victim(number, role, turn, due) for turn in range(1, self.victims)]
        storm = (*aborted, beside, *others)
        received = yield from course.together(storm, "hang up on some prompts, beside those of others")
        received += yield from course.send(
            [course.fact(role, course.checker(number))], "let another one follow at once"
        )
        return received + (yield from course.see_alive())

    def _hanging_up(self, number: int, turn: int, size: int) -> Probe:
        probe = self.course.draft(Role.NEIGHBOUR, self.course.donor(number + turn), size)
        rotation, moment = divmod(number + turn, len(MOMENTS))
        plan = hang_up(MOMENTS[moment], rotation * self.aborted + turn, self.lives[size])
        return dataclasses.replace(probe, disconnect=plan)

    def _victim(self, number: int, role: Role, turn: int, seconds: float) -> Probe:
        """Plan a victim: the first of equal size, then the smallest and a short one in turn."""
        tenant = self.course.checker(number + turn)
        if turn % 2:
            probe = self.course.fact(role, tenant)
        else:
            probe = self.course.draft(role, tenant, self.small // SHORT_SHARE if turn else self.small)
        return dataclasses.replace(probe, start_offset_seconds=seconds)

    def _due(self, aborted: Probe) -> float:
        """Seconds after which a hang-up is to be expected."""
        life = self.lives[aborted.prompt.tokens or 0]
        return 0.0 if aborted.disconnect is None else due_seconds(aborted.disconnect, life)
