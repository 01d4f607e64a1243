"""Failings that honest targets show now and then: charts that tell a change in their rate from single occasions.

Each is a CUSUM over the run with a threshold of ln 1e4: a healthy target raises its alarm once in at least 10,000
trials, whatever their order (Lorden 1971), as long as its failings are no commoner than the stated honest rate.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping
from typing import Final

from prober.detect.corruption import is_garbled, is_looping, is_salad, is_stray
from prober.detect.likeness import UNLIKE, likeness
from prober.detect.reasoning import is_cut_short
from prober.detect.recall import compared_miss, has_reasoned, is_decisive_missed, is_fair, is_free
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.mark import AnswerMark
from prober.domain.options import Arm
from prober.domain.probe import Role
from prober.domain.prompt import NeedlePosition
from prober.stats.cusum import Cusum

LEAST_WHOLE_RECALLS: Final = 5
"""Answers that held all needles, before a missing head is a change."""

Count = tuple[int, int]
"""Failures, trials."""

_LEAST_LOOP = 24
"""Characters from which doubled words are a loop's."""

_THRESHOLD = math.log(1e4)


def _cusum(honest: float, broken: float) -> Cusum:
    return Cusum(honest_rate=honest, broken_rate=broken, threshold=_THRESHOLD)


def _one(*, failed: bool) -> Count:
    return int(failed), 1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One failing, and when an answer is a trial of it."""

    name: str
    cusum: Cusum
    count: Callable[[Evidence], Count | None]
    """Failures and trials in one answer; None: no trial."""
    is_per_cohort: bool = False
    """Kept apart for each `Trial.cohort`, or session where a trial names none."""
    is_of_text: bool = False
    """A failing that a text may bring about by itself, each time it is asked: an answer to a text that failed so before
    is no trial, since trials count as independent."""

    def trial(self, evidence: Evidence) -> Count | None:
        """Failures and trials in this answer, as far as they are news; None: no trial."""
        history, text = evidence.history, evidence.prompt.text_sha256
        if self.is_of_text:
            earlier = itertools.chain(history.marks.of_text(text), history.references.of_text(text))
            if any(self.name in mark.failings for mark in earlier):
                return None
        return self.count(evidence)

    def key(self, evidence: Evidence) -> str:
        """Name of the score that an answer counts for."""
        trial = evidence.probe.trial
        cohort = (trial.cohort if trial is not None else "") or evidence.probe.options.session
        return f"{self.name}/{cohort}" if self.is_per_cohort and cohort else self.name

    def after(self, evidence: Evidence) -> float | None:
        """Score once this answer is folded in; None: it is no trial."""
        counted = self.trial(evidence)
        return None if counted is None else self._folded(evidence, counted)

    def alarms(self, evidence: Evidence) -> bool:
        """This very answer failed, and failings have become common."""
        counted = self.trial(evidence)
        if counted is None or not counted[0]:
            return False
        return self.cusum.has_crossed(self._folded(evidence, counted))

    def _folded(self, evidence: Evidence, counted: Count) -> float:
        failures, trials = counted
        score = evidence.history.scores.get(self.key(evidence), 0.0)
        return self.cusum.fold_group(score, failures=failures, trials=trials)


def reference_of(evidence: Evidence) -> AnswerMark | None:
    """Return the undisturbed answer to the same text, of this run or the one before it, if there is one."""
    return next(evidence.history.references.of_text(evidence.prompt.text_sha256), None)


def is_replay_lost(evidence: Evidence) -> bool | None:
    """What the same text once brought back is missing now, in an answer unlike that one; None: nothing to compare."""
    reference, is_missed = reference_of(evidence), compared_miss(evidence)
    if reference is None or reference.is_recall_missed is not False:
        return None
    if evidence.answer is Answer.EMPTY and is_free(evidence.probe) and not has_reasoned(evidence):
        return True
    if is_missed is None:
        return None
    alike = likeness(evidence.reading.signature, reference.signature)
    is_other = evidence.reading.sha256 != reference.sha256
    return is_missed and is_other and (alike is None or alike < UNLIKE)


def is_foreign_choice(evidence: Evidence) -> bool:
    """A free answer keeps to another live request's constraint in place of its own phrase."""
    reading = evidence.reading
    return bool(reading.foreign_choice) and is_free(evidence.probe) and is_decisive_missed(evidence)


def _replays(evidence: Evidence) -> Count | None:
    lost = is_replay_lost(evidence)
    return None if lost is None else _one(failed=lost)


def _loops(evidence: Evidence) -> Count | None:
    if not evidence.history.is_recall_proven or not is_fair(evidence):
        return None
    return _one(failed=is_looping(evidence))


def _salads(evidence: Evidence) -> Count | None:
    return _one(failed=is_salad(evidence)) if evidence.answer.is_served and is_free(evidence.probe) else None


def _doubled(evidence: Evidence) -> Count | None:
    """Word by word; what runs in a loop repeats itself honestly."""
    reading = evidence.reading
    is_loop = reading.garble.longest_loop >= _LEAST_LOOP
    if not is_fair(evidence) or not evidence.history.is_recall_proven or is_loop:
        return None
    return min(reading.garble.doubled_words, reading.words), reading.words


def _empty(evidence: Evidence) -> Count | None:
    if not is_free(evidence.probe) or not evidence.history.is_recall_proven or has_reasoned(evidence):
        return None
    return _one(failed=evidence.answer is Answer.EMPTY) if evidence.answer.is_served else None


def _restarted(evidence: Evidence) -> Count | None:
    return _one(failed=evidence.reading.repeats_opening) if is_fair(evidence) else None


def _headless(evidence: Evidence) -> Count | None:
    recall = evidence.reading.recall
    if not is_fair(evidence) or len(recall.asked) < 2 or NeedlePosition.END not in recall.found:  # noqa: PLR2004
        return None
    if evidence.history.whole_recalls < LEAST_WHOLE_RECALLS:
        return None
    return _one(failed=recall.found == (NeedlePosition.END,))


def _strays(evidence: Evidence) -> Count | None:
    if not evidence.history.is_recall_proven or not is_fair(evidence):
        return None
    return _one(failed=is_stray(evidence))


def _foreign_choices(evidence: Evidence) -> Count | None:
    return _one(failed=is_foreign_choice(evidence)) if is_fair(evidence) else None


def _cut_short(evidence: Evidence) -> Count | None:
    is_cut = is_cut_short(evidence)
    return None if is_cut is None else _one(failed=is_cut)


def _drifted(evidence: Evidence) -> Count | None:
    """A reference probe asked again; those that the LLM never knew say nothing."""
    trial, reference = evidence.probe.trial, reference_of(evidence)
    is_asked = trial is not None and trial.arm is Arm.CHECK and trial.series.partition("/")[0] == "drift"
    if not is_asked or evidence.probe.role is Role.CALIBRATION:
        return None
    is_known = evidence.history.is_recall_proven if reference is None else reference.is_recall_missed is False
    if not is_known or not evidence.answer.is_served:
        return None
    missed = compared_miss(evidence)
    if evidence.answer is Answer.EMPTY or is_garbled(evidence):
        return _one(failed=True)
    return None if missed is None else _one(failed=missed)


REPLAYS: Final = Chart(name="replays", cusum=_cusum(0.03, 0.5), count=_replays)
"""Honest LLMs forget one plain needle in 0.3-2 % and refuse in about 1 %, the second time as well as the first."""

LOOPS: Final = Chart(name="loops", cusum=_cusum(0.002, 0.5), count=_loops, is_of_text=True)
"""In place of the answer, by an LLM that can do the task: two within three answers alarm."""

SALADS: Final = Chart(name="salads", cusum=_cusum(0.001, 0.3), count=_salads, is_of_text=True)
"""Of LLMs that have not shown yet what they can do: two such answers within some eight alarm."""

DOUBLED: Final = Chart(name="doubled", cusum=_cusum(0.005, 0.02), count=_doubled, is_of_text=True)
"""Per word. Copy errors of 2 % a word (detection-science 9.1), a quarter of them doublings; seven together alarm."""

EMPTY: Final = Chart(name="empty", cusum=_cusum(0.005, 0.3), count=_empty, is_of_text=True)
"""An immediate end of text happens; vLLM issue #46669 had 60 % null contents, and none once repaired."""

RESTARTED: Final = Chart(name="restarted", cusum=_cusum(0.01, 0.5), count=_restarted, is_of_text=True)
"""An LLM may open twice by itself; two such answers in a row and a third soon after are not it."""

HEADLESS: Final = Chart(name="headless", cusum=_cusum(0.02, 0.6), count=_headless, is_of_text=True)
"""Only the end of the prompt is known: both other needles forgotten at once, 0.3-2 % where misses depend on another."""

DRIFT: Final = Chart(name="drift", cusum=_cusum(0.05, 0.4), count=_drifted, is_per_cohort=True)
"""SGLang issue #23020: 4-6 % wrong at first, 16-32 % from the 51st request, half from the 101st."""

CHOICES: Final = Chart(name="choices", cusum=_cusum(1e-4, 0.5), count=_foreign_choices, is_of_text=True)
"""An answer that is another request's choice rather than its own phrase: once in 10,000 by chance, two never."""

STRAYS: Final = Chart(name="strays", cusum=_cusum(0.005, 0.06), count=_strays, is_of_text=True)
"""A word of a six-word phrase is miscopied in at most 12 % of answers (2 % a word), as another word that stands in
some live phrase, rather than misspelt, in few of these; four answers within some twenty alarm."""

BUDGETS: Final = Chart(name="budgets", cusum=_cusum(0.01, 0.2), count=_cut_short)
"""Reasoning that by itself ends at exactly one of three counts, half as long as the shortest of six undisturbed ones or
less. Of log-normal lengths (medians from 20 to 300 tokens, sigma up to 1.3) fewer than 0.6 % do; by luck of the six, up
to 3.5 % where they can be told at all. Four within some seventeen alarm, or five within some thirty: of honest answers
so spread fewer than one in 10,000, by simulation."""

CHARTS: Final = (REPLAYS, LOOPS, DOUBLED, EMPTY, RESTARTED, HEADLESS, DRIFT, CHOICES, STRAYS, SALADS, BUDGETS)


def failings_of(evidence: Evidence) -> tuple[str, ...]:
    """Names of the charts whose failing this answer shows, whether it is news or not."""
    return tuple(chart.name for chart in CHARTS if (chart.count(evidence) or (0, 0))[0])


def fold_scores(evidence: Evidence) -> Mapping[str, float]:
    """Scores once an answer is folded in; the same mapping where it is a trial of nothing."""
    found = {chart.key(evidence): score for chart in CHARTS if (score := chart.after(evidence)) is not None}
    return {**evidence.history.scores, **found} if found else evidence.history.scores
