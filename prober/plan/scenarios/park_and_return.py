"""Leaves sessions until other prompts have evicted them from the device, then comes back to each."""

import dataclasses
from collections.abc import Generator, Sequence

from prober.domain.evidence import Judgement, WaveEvidence
from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Reason
from prober.domain.options import Arm, RequestOptions, Trial
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Role, SharedText, Wave
from prober.plan.confirm import confirm
from prober.plan.course import Course, Step
from prober.plan.lengths import donor_tokens, evicting_tokens, lines_within, park_tokens, small_tokens
from prober.plan.limits import counted_tokens
from prober.plan.stage import Stage, Waves, scenario

MAX_SESSIONS = 8
"""LMCache #4385 was reproduced with six."""

MAX_FILLS = 64
"""Prompts that evict; what takes more is not evicted by one tenant's probing."""

MAX_FILL_ROUNDS = 2
"""Times the needed number of them that may be sent before the eviction is given up as it stands."""


@scenario(FaultKind.READ_BEFORE_READY, FaultKind.FAILED_LOAD, FaultKind.WRONG_SESSION, FaultKind.PARTIAL_CONTEXT)
def park_and_return(stage: Stage) -> Waves:
    """Open sessions one by one, evict them by prompts of other tenants, and come back to each.

    Every session comes back with the very same text, and with its beginning under a new question: half of them one
    after the other, the rest in a burst. Short prompts of another tenant run beside. Where some of them lack what they
    knew, and too few to tell a fault from honest forgetting, all come back once more.
    """
    parking = _Parking(Course("park_and_return", stage))
    yield from parking.open()
    for _ in parking.course.rounds(least=1):
        received = yield from parking.play(Role.CHECK)
        if _is_in_doubt(received) and not parking.course.must_stop:
            received += yield from parking.play(Role.CHECK)
        yield from confirm(parking.course, received, parking.play)
    return (*parking.shortfall(), *parking.course.shortfall())


class _Parking:
    """Sessions that leave the device, and what makes them leave."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.size = small_tokens(course.stage)
        self.lines = lines_within(self.size, course.stage.calibration, course.stage.target.ask) * 3 // 4
        """Of a session's beginning, which its later turns keep."""
        self.sessions: tuple[Judgement, ...] = ()
        self.evicted = 0
        """Tokens that made room in the latest round."""
        self.disturbed = 0

    def open(self) -> Generator[Wave, WaveEvidence, None]:
        """Send each session's first prompt by itself."""
        beginning = SharedText(source=None, lines=self.lines)
        for number in range(1, min(MAX_SESSIONS, self.course.stage.settings.rounds) + 1):
            probe = self.course.draft(Role.REFERENCE, self.course.checker(number), self.size, shared=beginning)
            probe = dataclasses.replace(
                probe,
                options=RequestOptions(session=f"{self.course.scenario}-{number}"),
                trial=Trial(series=f"return/{number}", number=1, arm=Arm.REFERENCE),
            )
            self.sessions += yield from self.course.send([probe], "open a session")

    def play(self, role: Role) -> Step:
        """Evict the sessions, then come back to all of them."""
        received = yield from self._evict()
        half = len(self.sessions) // 2
        for session in self.sessions[:half]:
            for probe in self._returning(session, role):
                received += yield from self._return([probe])
        return received + (yield from self._return([p for s in self.sessions[half:] for p in self._returning(s, role)]))

    def shortfall(self) -> tuple[str, ...]:
        """Say that too little text came between leaving and coming back to be sure of an eviction.

        Nothing is said of a scenario that had to stop: its judgements tell why.
        """
        stage = self.course.stage
        wanted = stage.settings.park_tokens or evicting_tokens(stage)
        if self.evicted >= wanted or self.course.must_stop:
            return ()
        message = (
            f"Only {self.evicted:,} of the {wanted:,} tokens came between leaving sessions and coming back that evict "
            "them from a cache as large as the target's pool, so they may never have left it; park_tokens says how "
            "many it takes."
        )
        return (message,)

    def _evict(self) -> Step:
        stage = self.course.stage
        wanted, size = park_tokens(stage), donor_tokens(stage)
        received: tuple[Judgement, ...] = ()
        self.evicted = 0
        for number in range(min(MAX_FILLS, MAX_FILL_ROUNDS * -(-wanted // size))):
            if self.evicted >= wanted or self.course.must_stop:
                break
            tokens = max(self.size, min(size, wanted - self.evicted))
            filling = self.course.draft(Role.NEIGHBOUR, self.course.donor(number), tokens)
            sent = yield from self.course.together([filling, self._beside()], "evict the sessions from the device")
            self.evicted += sum(counted_tokens(j) or 0 for j in sent if j.evidence.answer.is_served)
            received += sent
        return received

    def _returning(self, session: Judgement, role: Role) -> list[Probe]:
        """Plan the same text again, and its beginning under a new question."""
        first = session.evidence.probe
        trial = None if first.trial is None else dataclasses.replace(first.trial, arm=Arm.CHECK)
        again = self.course.replay(session, first.tenant, role, trial)
        beginning = SharedText(source=session.evidence.prompt.canary, lines=self.lines)
        continued = self.course.draft(role, first.tenant, self.size, shared=beginning)
        return [again, dataclasses.replace(continued, options=first.options)]

    def _return(self, probes: Sequence[Probe]) -> Step:
        beside = [probe for pair in zip(probes, map(self._beside, probes), strict=True) for probe in pair]
        return (yield from self.course.together(beside, "come back to parked sessions"))

    def _beside(self, _probe: Probe | None = None) -> Probe:
        self.disturbed += 1
        return self.course.fact(Role.NEIGHBOUR, self.course.donor(self.disturbed))


def _is_in_doubt(received: Sequence[Judgement]) -> bool:
    """Whether returns lacked what they knew, and too few did so to tell a fault from honest forgetting."""
    outcomes = {
        finding.outcome
        for judged in received
        for finding in judged.findings
        if finding.reason is Reason.REPLAY_DIVERGED
    }
    return outcomes == {Outcome.INCONCLUSIVE}
