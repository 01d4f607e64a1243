"""Looks for one tenant's text in the prefix cache of another: by reported counts, and by the clock."""

import dataclasses
import functools
import hashlib

from prober.domain.canary import Canary
from prober.domain.fault_kind import FaultKind
from prober.domain.options import Arm, RequestOptions, Trial
from prober.domain.probe import Probe, Role, SharedPlace, SharedText
from prober.domain.series import SeriesTally
from prober.domain.tenant import Tenant
from prober.plan.confirm import confirm
from prober.plan.course import Course, Step
from prober.plan.lengths import lines_within, small_tokens
from prober.plan.stage import Stage, Waves, scenario

LEAST_CONTROL_SHARE = 0.95
"""Of positive controls that must show, before silence says anything (detection-science 9.3)."""

LEAST_PAIRS = 17
"""Of HIT and MISS that the clock takes: with fewer, all of them quicker, the sign test stays below 1e4, and silent."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What one series of trials varies."""

    place: SharedPlace
    is_salted: bool

    @property
    def series(self) -> str:
        """Name of the series."""
        return f"cache_sharing/{self.place.value}/{'salted' if self.is_salted else 'unsalted'}"


CELLS = tuple(Cell(place=place, is_salted=is_salted) for place in SharedPlace for is_salted in (False, True))


@scenario(FaultKind.SHARED_CACHE, FaultKind.RESPONSE_CACHE, FaultKind.CACHE_KEY)
def cache_sharing(stage: Stage) -> Waves:
    """In each round a trial of the plainest cell and of another in turn, its arms one by one.

    One tenant primes the cache with text nobody has sent before; another asks for it (HIT) and for fresh text (MISS),
    in an order that the target cannot foresee; then the first one asks for it again (CONTROL): what does not even show
    there could not have shown in HIT. One affinity key leads a trial's requests to one replica, hence to one cache.
    """
    course = Course("cache_sharing", stage)
    for number in course.rounds():
        for cell in (CELLS[0], CELLS[1 + number % (len(CELLS) - 1)]):
            trial = functools.partial(_trial, course, cell, number)
            received = yield from trial(Role.CHECK)
            yield from confirm(course, received, trial)
    return (*_unseen(course), *course.shortfall())


def _trial(course: Course, cell: Cell, number: int, role: Role) -> Step:
    """Play a trial under a number of its own, for a confirmation too: fellows share their primed text."""
    one, other = course.donor(number), course.checker(number)
    plan = functools.partial(_arm, course, cell, len(course.judgements) + 1)
    primed = yield from course.send([plan(Arm.PRIME, one, Role.NEIGHBOUR)], "prime the cache")
    if not primed:
        return ()
    source = primed[0].evidence.prompt.canary
    compared = [plan(Arm.HIT, other, role, source), plan(Arm.MISS, other, Role.NEIGHBOUR)]
    received = primed
    for probe in compared if _is_hit_first(source) else reversed(compared):
        received += yield from course.send([probe], "ask for primed text and for fresh text")
    control = plan(Arm.CONTROL, one, Role.NEIGHBOUR, source)
    return received + (yield from course.send([control], "ask for primed text as its owner"))


def _is_hit_first(source: Canary) -> bool:
    """Toss a coin for the order within the pair, which makes the sign test exact: a hash of what is new every time."""
    return bool(hashlib.sha256(str(source).encode()).digest()[0] & 1)


def _arm(
    course: Course, cell: Cell, number: int, arm: Arm, tenant: Tenant, role: Role, source: Canary | None = None
) -> Probe:
    size = small_tokens(course.stage)
    lines = lines_within(size, course.stage.calibration, course.stage.target.ask) * 3 // 4
    shared = SharedText(source=source, lines=lines, place=cell.place)
    probe = course.draft(role, tenant, size, shared=shared)
    salt = f"{course.scenario}-{tenant.number}" if cell.is_salted else None
    return dataclasses.replace(
        probe,
        options=RequestOptions(cache_salt=salt, session=f"{course.scenario}-{number}"),
        trial=Trial(series=cell.series, number=number, arm=arm),
    )


def _unseen(course: Course) -> tuple[str, ...]:
    """Say why silence means nothing in the plainest cell: controls do not show, or too few pairs for the clock."""
    if course.must_stop or not course.judgements:
        return ()
    tally = course.judgements[-1].evidence.history.series.get(CELLS[0].series, SeriesTally())
    if _shows(tally.control_hits, tally.controls):
        return ()
    pairs, timed = tally.faster + tally.slower, tally.control_faster + tally.control_slower
    if not _shows(tally.control_faster, timed):
        message = (
            f"A tenant's own text was reported as cached in {tally.control_hits} of {tally.controls} trials and came "
            f"sooner than fresh text in {tally.control_faster} of {timed}, which takes {LEAST_CONTROL_SHARE:.0%}: "
            "sharing between tenants could not have shown. The target has no prefix cache, or tells nothing of it."
        )
        return (message,)
    if pairs >= LEAST_PAIRS:
        return ()
    message = (
        f"The prefix cache shows by the clock only, and {pairs} pairs are too few for that: it takes {LEAST_PAIRS} "
        "(rounds) to tell sharing between tenants from chance."
    )
    return (message,)


def _shows(hits: int, trials: int) -> bool:
    return trials > 0 and hits >= LEAST_CONTROL_SHARE * trials
