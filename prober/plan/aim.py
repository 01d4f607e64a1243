"""Hits a length to the token, where the text's cost is known on average only."""

import dataclasses
from collections.abc import Generator

from prober.domain.evidence import Judgement, WaveEvidence
from prober.domain.probe import Probe, PromptSpec, Wave
from prober.plan.course import Course
from prober.plan.limits import reported_tokens
from prober.prompt.sizing import structure_of

MAX_REWRITES = 3


def aim(
    course: Course, probe: Probe, purpose: str, slack_tokens: int = 0
) -> Generator[Wave, WaveEvidence, tuple[Judgement, ...]]:
    """Send a probe; where counting is inexact, rewrite the same canary's text until its length is as planned.

    Every try is a full probe, judged like any other. A new hit ends the aiming, since it deserves its re-probe at once;
    so does a count that the target does not tell, and a miss of more words than the pad can lose (about 2 sigma).

    Args:
        course: the scenario under way.
        probe: planned with `prompt.tokens`.
        purpose: for progress displays.
        slack_tokens: distance from the plan that is near enough.

    Returns:
        All judgements in order, the aimed one last; empty if the scenario had to stop before.
    """
    judgements: list[Judgement] = []
    draft, adjust = probe, 0
    for _ in range(1 + MAX_REWRITES):
        received = yield from course.send([draft], purpose)
        judgements.extend(received)
        if course.stage.calibration.is_exact or not received:
            break
        miss = _miss(received[0], probe)
        if miss is None or abs(miss) <= slack_tokens or course.is_new_hit(received[0]):
            break
        adjust -= miss
        canary = received[0].evidence.prompt.canary
        spec = dataclasses.replace(probe.prompt, rewrite_of=canary, pad_adjust=adjust)
        if not _can_compose(spec, course):
            break
        draft = course.redraft(draft, spec)
    return tuple(judgements)


def _can_compose(spec: PromptSpec, course: Course) -> bool:
    """False when more pad words would have to go than the text holds."""
    try:
        structure_of(spec, course.stage.calibration)
    except ValueError:
        return False
    return True


def _miss(judgement: Judgement, probe: Probe) -> int | None:
    """Tokens too many (or too few) by the server's count; None if it gave none."""
    reported = reported_tokens(judgement)
    return None if reported is None else reported - (probe.prompt.tokens or 0)
