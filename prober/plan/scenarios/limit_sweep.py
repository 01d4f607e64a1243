"""Finds to the token where the target stops serving, and where it stops serving soundly."""

from collections.abc import Generator

from prober.domain.answer import Answer
from prober.domain.evidence import Judgement, WaveEvidence
from prober.domain.fault_kind import FaultKind
from prober.domain.probe import Role, Wave
from prober.plan.aim import aim
from prober.plan.confirm import confirm
from prober.plan.course import Course
from prober.plan.lengths import seed_tokens, sweep_points
from prober.plan.limits import Soundness, counted_tokens, soundness
from prober.plan.seeding import seed, shortfall
from prober.plan.stage import Stage, Waves, scenario
from prober.stats.boundary import Bisection

TRIES = 2
"""Of a length whose answer could not be judged, or misses its decisive needle: honest LLMs forget 1 to 4 % at 1M."""


@scenario(FaultKind.REJECTED_BUT_ADMITTED, FaultKind.PARTIAL_CONTEXT, FaultKind.PROTOCOL_LIE)
def limit_sweep(stage: Stage) -> Waves:
    """Seed once, probe around every known or stated limit, then bisect between sound and not sound.

    The lengths found stand in the judgements; `plan.limits.limit_map` reads them off.
    """
    course = Course("limit_sweep", stage)
    points = sweep_points(stage)
    longest = max(points, key=lambda length: seed_tokens(stage, length))
    seeded = yield from seed(course, longest)
    missing = shortfall(course, longest, seeded)
    course.max_probes = len(course.judgements) + stage.settings.sweep_max_probes
    sweep = _Sweep(course)
    yield from sweep.visit_points()
    if stage.settings.sweep_bisect:
        yield from sweep.bisect()
    return (*missing, *sweep.shortfall())


class _Sweep:
    """The lengths visited so far, and what they showed."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.within = [counted_tokens(donor) or 0 for donor in course.judgements if soundness(donor) is Soundness.SOUND]
        self.beyond: list[int] = []
        self.ceiling: int | None = None
        """Smallest length some proxy found too many bytes; longer ones tell nothing."""
        self.stated: dict[int, None] = {}

    def visit_points(self) -> Generator[Wave, WaveEvidence, None]:
        """Visit each point once; limits that refusals state on the way add theirs."""
        visited: set[int] = set()
        while not self.course.must_stop:
            points = sweep_points(self.course.stage, self.stated)
            point = next((point for point in points if point not in visited and self._can_pass(point)), None)
            if point is None:
                return
            visited.add(point)
            nearest = min((abs(other - point) for other in points if other != point), default=0)
            yield from self._visit(point, slack_tokens=nearest // 2)

    def bisect(self) -> Generator[Wave, WaveEvidence, None]:
        """Narrow the bracket between the longest sound length and the shortest one beyond it, to one token."""
        bracket, misses = self._bracket(), 0
        while bracket is not None and bracket.next_length is not None and misses < TRIES and not self.course.must_stop:
            width = bracket.smallest_beyond - bracket.largest_within
            yield from self._visit(bracket.next_length, slack_tokens=width // 4)
            narrower = self._bracket()
            misses = misses + 1 if narrower == bracket else 0
            bracket = narrower

    def shortfall(self) -> tuple[str, ...]:
        """Say that the probes ran out before any length beyond a limit was judged."""
        is_used_up = len(self.course.judgements) >= (self.course.max_probes or 0)
        if self.beyond or not is_used_up:
            return ()
        message = (
            f"All {self.course.stage.settings.sweep_max_probes:,} probes of the sweep (sweep_max_probes) were sent "
            "before a length beyond any limit was judged."
        )
        return (message,)

    def _visit(self, length: int, slack_tokens: int) -> Generator[Wave, WaveEvidence, None]:
        """Probe one length until it is judged, at most `TRIES` times, each with fresh text."""
        for _ in range(TRIES):
            if self.course.must_stop:
                return
            number = len(self.course.judgements)
            probe = self.course.draft(Role.CHECK, self.course.checker(number), length)
            received = yield from aim(self.course, probe, f"probe with {length:,} tokens", slack_tokens)
            kinds = [self._learn(judgement) for judgement in received]
            yield from confirm(self.course, received)
            if not kinds or kinds[-1] not in {Soundness.DOUBTFUL, Soundness.UNJUDGED} or not self._can_pass(length):
                return
        if kinds[-1] is Soundness.DOUBTFUL:
            self.beyond.append(length)

    def _learn(self, judgement: Judgement) -> Soundness:
        evidence = judgement.evidence
        tokens = counted_tokens(judgement) or 0
        if evidence.observation.refusal is not None:
            self.stated.update(dict.fromkeys(evidence.observation.refusal.stated_limits))
        if evidence.answer is Answer.TOO_MANY_BYTES:
            self.ceiling = tokens if self.ceiling is None else min(self.ceiling, tokens)
        kind = soundness(judgement)
        if kind is Soundness.SOUND:
            self.within.append(tokens)
        elif kind in {Soundness.REJECTED, Soundness.WRONG}:
            self.beyond.append(tokens)
        return kind

    def _can_pass(self, length: int) -> bool:
        return self.ceiling is None or length < self.ceiling

    def _bracket(self) -> Bisection | None:
        """Longest sound length below the shortest one beyond; None while nothing was beyond.

        Where nothing was sound, the search starts from the size of the calibration's probes, which were served.
        """
        if not self.beyond:
            return None
        beyond = min(self.beyond)
        smallest = self.course.stage.calibration.smallest_tokens
        within = max((length for length in self.within if length < beyond), default=smallest)
        return Bisection(largest_within=within, smallest_beyond=beyond) if within < beyond else None
