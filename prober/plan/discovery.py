"""Finds the effective length limit of a target that nobody described: what refusals state first, then a search."""

import enum
from collections.abc import Generator, Iterator
from typing import Final

from prober.domain.answer import Answer
from prober.domain.evidence import Judgement, WaveEvidence
from prober.domain.probe import Role, Wave
from prober.domain.target import RESERVED_TOKENS
from prober.plan.aim import aim
from prober.plan.anchoring import anchor, is_anchored
from prober.plan.confirm import confirm
from prober.plan.course import Course
from prober.plan.lengths import MAX_STATED_LIMITS, baseline_tokens
from prober.plan.limits import Soundness, counted_tokens, soundness
from prober.stats.boundary import Bisection, ProbabilisticBisection

ERROR_RATE: Final = 0.05
"""Answers assumed to look like the other side of the limit: honest LLMs forget one needle in 1 to 4 % at 1M tokens."""

CONFIDENCE: Final = 0.99

MAX_PROBES: Final = 48
"""To one page at 5 % wrong answers a search takes 21 in the mean, 31 at the 95th percentile (detection-science 9.5)."""

TRIES: Final = 2
"""Of a length that was answered by a 5xx, a time-out or nothing to judge; then it is skipped."""

MAX_SKIPPED: Final = 4
"""Lengths that could not be judged, after which no limit will be found."""


class Class(enum.Enum):
    """What one answer says about its length; the classes are never mixed."""

    SOUND = "sound"
    REFUSED = "refused"
    """A clean refusal, or a cut: the target's own word that it does not take the prompt."""
    BARRED = "barred"
    """Too many bytes for some proxy: a limit in effect, though not one of tokens."""
    WRONG = "wrong"
    """Served, with the sign of a leak: the finding."""
    DOUBTFUL = "doubtful"
    """Served, but its end is not known."""
    UNJUDGED = "unjudged"

    @property
    def is_final(self) -> bool:
        """The target decided it by itself: no LLM's forgetfulness is in it."""
        return self in {Class.REFUSED, Class.BARRED}


def classify(judgement: Judgement) -> Class:
    """Sort one judgement for the search."""
    answer = judgement.evidence.answer
    kind = soundness(judgement)
    if kind is Soundness.UNJUDGED and answer is Answer.TRUNCATED:
        return Class.REFUSED
    if kind is Soundness.UNJUDGED and answer is Answer.TOO_MANY_BYTES:
        return Class.BARRED
    return _CLASSES[kind]


_CLASSES: Final = {
    Soundness.SOUND: Class.SOUND,
    Soundness.REJECTED: Class.REFUSED,
    Soundness.WRONG: Class.WRONG,
    Soundness.DOUBTFUL: Class.DOUBTFUL,
    Soundness.UNJUDGED: Class.UNJUDGED,
}

Steps = Generator[Wave, WaveEvidence, None]


class Discovery:
    """One search for the largest prompt that is served soundly, to one page of the target.

    A wrong answer lies beyond that limit as a refusal does; the answers keep their classes apart. On a shared target
    the first confirmed wrong answer ends it, as it ends any scenario.
    """

    def __init__(self, course: Course) -> None:
        self.course = course
        self.page = course.stage.target.page_tokens
        self.answers: list[tuple[int, Class]] = []
        """Tokens, and what came back for them; only what could be judged."""
        self.stated: list[int] = []
        self.search: ProbabilisticBisection | None = None
        self._skipped: set[int] = set()
        self._room = self.page + RESERVED_TOKENS + course.stage.settings.over_limit_max_output_tokens
        """Below a stated limit, a prompt fits however the target counts: answer included, tokens held back."""

    @property
    def is_settled(self) -> bool:
        """The limit is known to one page."""
        if self.search is not None:
            return self.search.is_settled(self.page, CONFIDENCE)
        bracket = self._bracket()
        return bracket is not None and bracket.is_settled

    def play(self) -> Steps:
        """Verify a length that must fit, follow the hints of refusals, and search where these do not suffice."""
        size = baseline_tokens(self.course.stage)
        donor = self.course.draft(Role.DONOR, self.course.donor(0), size)
        received = yield from self.course.send([donor], f"verify {size:,} tokens, which must fit")
        self._learn(received)
        self._learn((yield from confirm(self.course, received)))
        self.course.max_probes = len(self.course.judgements) + MAX_PROBES
        yield from self._follow_hints()
        if self.is_settled or self.course.must_stop:
            return
        if not is_anchored(self.course):
            self._learn((yield from anchor(self.course)))
        yield from self._search()

    def shortfall(self) -> tuple[str, ...]:
        """Say how far the limit is known, where it is not known to one page; or that it is none of tokens."""
        if self.course.has_confirmed_violation:
            return ()
        barred = min((tokens for tokens, kind in self.answers if kind is Class.BARRED), default=None)
        if barred is not None:
            return (f"From {barred:,} tokens on some proxy found too many bytes: limits beyond that cannot be seen.",)
        if self.is_settled:
            return ()
        if self.search is None:
            return ("No length limit was found: too few answers could be judged.",)
        low, high = self.search.interval(CONFIDENCE)
        return (f"The length limit is not known to one page: it lies between {low:,} and {high:,} tokens (99 %).",)

    def _follow_hints(self) -> Steps:
        """Ask just above the advertised context, test each limit that its refusal states, and one page above."""
        yield from self._ask(self.course.stage.target.context_tokens + 1)
        tested: set[int] = set()
        while not (self.is_settled or self.course.must_stop):
            limit = next((limit for limit in self._hints() if limit not in tested), None)
            if limit is None:
                return
            tested.add(limit)
            is_near = any(kind.is_final and limit < tokens <= limit + self.page for tokens, kind in self.answers)
            kind = Class.REFUSED if is_near else (yield from self._test(limit))
            if kind is Class.SOUND:
                yield from self._test(limit + self.page)
            elif kind is not Class.UNJUDGED:
                yield from self._test(limit - self._room)
            yield from self._bisect()

    def _test(self, length: int) -> Generator[Wave, WaveEvidence, Class]:
        """Ask a length, and again where its end was not known: an LLM may forget once, and a hint is worth a probe."""
        kind = yield from self._ask(length)
        return (yield from self._ask(length)) if kind is Class.DOUBTFUL else kind

    def _hints(self) -> Iterator[int]:
        """Limits that were stated, the smallest first; a server that names more is echoing our own counts."""
        longest = 2 * self.course.stage.target.context_tokens
        yield from sorted(limit for limit in set(self.stated) if limit <= longest)[:MAX_STATED_LIMITS]

    def _bisect(self) -> Steps:
        """Narrow what a hint has bracketed, which takes an answer or two; answers that narrow nothing end it."""
        bracket = self._bracket()
        while bracket is not None and bracket.next_length is not None and not self.course.must_stop:
            yield from self._test(bracket.next_length)
            narrower = self._bracket()
            if narrower == bracket:
                return
            bracket = narrower

    def _bracket(self) -> Bisection | None:
        """Bracket a limit closely, sound below and refused above; None where any answer speaks against it."""
        beyond = min((tokens for tokens, kind in self.answers if kind.is_final), default=None)
        within = max((tokens for tokens, kind in self.answers if kind is Class.SOUND), default=None)
        if beyond is None or within is None or not within < beyond <= within + self._room + self.page:
            return None
        against = ((tokens, kind) for tokens, kind in self.answers if kind in {Class.WRONG, Class.DOUBTFUL})
        if any(tokens < beyond and (kind is Class.WRONG or tokens > within) for tokens, kind in against):
            return None
        return Bisection(largest_within=within, smallest_beyond=beyond, grain=self.page)

    def _search(self) -> Steps:
        """Search by probabilistic bisection, which a wrong answer does not mislead, over all that may be the limit."""
        search = self._grid()
        while search is not None and not self.course.must_stop and len(self._skipped) < MAX_SKIPPED:
            self.search = search
            if self.is_settled:
                return
            known = len(self.answers)
            low, high = search.interval(CONFIDENCE)
            yield from self._ask(self._unskipped(search.next_length), slack_tokens=(high - low) // 8)
            search = _folded(search, self.answers[known:])
            self.search = search

    def _grid(self) -> ProbabilisticBisection | None:
        """Lay pages from the shortest sound length to what was refused, and fold all answers; None: no room."""
        target, smallest = self.course.stage.target, self.course.stage.calibration.smallest_tokens
        refused = min((tokens - 1 for tokens, kind in self.answers if kind.is_final), default=target.context_tokens)
        longest = min(refused, target.context_tokens)
        sound = (tokens for tokens, kind in self.answers if kind is Class.SOUND and tokens < longest)
        shortest = min(sound, default=smallest)
        if longest - shortest < self.page:
            return None
        search = ProbabilisticBisection.over(
            shortest=shortest,
            longest=longest,
            page_tokens=self.page,
            false_beyond_rate=ERROR_RATE,
            false_within_rate=ERROR_RATE,
        )
        return _folded(search, [(tokens, kind) for tokens, kind in self.answers if shortest < tokens <= longest])

    def _unskipped(self, length: int) -> int:
        while length in self._skipped:
            length -= self.page
        return length

    def _ask(self, length: int, slack_tokens: int | None = None) -> Generator[Wave, WaveEvidence, Class]:
        """Probe one length with fresh text until it is judged, at most `TRIES` times; else UNJUDGED, and skipped."""
        for _ in range(TRIES):
            if self.course.must_stop:
                return Class.UNJUDGED
            probe = self.course.draft(Role.CHECK, self.course.checker(0), length)
            slack = self.page // 2 if slack_tokens is None else slack_tokens
            received = yield from aim(self.course, probe, f"ask with {length:,} tokens", slack)
            kinds = self._learn(received)
            self._learn((yield from confirm(self.course, received)))
            if kinds and kinds[-1] is not Class.UNJUDGED:
                return kinds[-1]
        self._skipped.add(length)
        return Class.UNJUDGED

    def _learn(self, received: tuple[Judgement, ...]) -> list[Class]:
        kinds = [classify(judgement) for judgement in received]
        for judgement, kind in zip(received, kinds, strict=True):
            refusal = judgement.evidence.observation.refusal
            if refusal is not None:
                self.stated.extend(refusal.stated_limits)
            if kind is not Class.UNJUDGED:
                self.answers.append((counted_tokens(judgement) or 0, kind))
        return kinds


def _folded(search: ProbabilisticBisection, answers: list[tuple[int, Class]]) -> ProbabilisticBisection:
    for tokens, kind in answers:
        search = search.answered(tokens, is_within=kind is Class.SOUND)
    return search
