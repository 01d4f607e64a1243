"""Does a free answer keep to another request's constraint?"""

from typing import Final

from prober.detect.charts import CHOICES, is_foreign_choice
from prober.detect.recall import has_reasoned, is_fair
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.options import RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.target import TextForm

_NAME = "vocabulary"

LEAST_CHARACTERS: Final = 8
LEAST_DIGITS: Final = 8
"""In answers to prompts of words alone; codes of numbered lines are digits too."""

LEAST_SHARE: Final = 0.5
"""Of an answer: repeats of one word, or marks that are neither letter nor digit; honest ones are 80 % letters."""

NEIGHBOURS: Final = 32
"""Latest answers among which a constrained one may have shared a batch."""


def detect_vocabulary(evidence: Evidence) -> tuple[Finding, ...]:
    """Judge free answers of an LLM that has shown that it can do the task.

    One that is another live request's choice in place of its own phrase is SUSPECT (by chance fewer than 1 in 10,000),
    a VIOLATION when a second one comes within some ten answers (CVE-2026-114049). One so collapsed that it is made of
    marks ("!!!!": vLLM issue #22896), holds eight digits where words were asked for, or repeats one word for half of
    it, is SUSPECT beside constrained neighbours (fewer than 1 in 10,000: honest LLMs loop in phrases); elsewhere
    `garble` speaks.
    """
    if not is_fair(evidence) or not evidence.history.is_recall_proven:
        return ()
    if is_foreign_choice(evidence):
        outcome = Outcome.VIOLATION if CHOICES.alarms(evidence) else Outcome.SUSPECT
        message = f"The free answer is a choice that another request was held to: {evidence.reading.foreign_choice}."
        return (_finding(evidence, outcome, message),)
    if _is_collapsed(evidence) and _has_constrained_neighbour(evidence):
        message = (
            f"The free answer has {evidence.reading.letters} letters and {evidence.reading.digits} digits in "
            f"{evidence.reading.characters} characters and repeats one piece for "
            f"{evidence.reading.garble.longest_loop}, beside constrained requests."
        )
        return (_finding(evidence, Outcome.SUSPECT, message),)
    return ()


def _is_collapsed(evidence: Evidence) -> bool:
    reading = evidence.reading
    if reading.characters < LEAST_CHARACTERS or reading.is_refusal_like:
        return False
    is_one_word = reading.garble.repeated_words >= LEAST_SHARE * (reading.words - 1)
    is_loop = reading.garble.longest_loop >= LEAST_SHARE * reading.characters
    is_of_marks = reading.letters + reading.digits < LEAST_SHARE * reading.characters and not has_reasoned(evidence)
    has_digits = reading.digits >= LEAST_DIGITS and evidence.probe.prompt.form is TextForm.WORD_STREAM
    return is_of_marks or has_digits or (is_one_word and is_loop)


def _has_constrained_neighbour(evidence: Evidence) -> bool:
    latest = zip(reversed(evidence.history.marks), range(NEIGHBOURS), strict=False)
    return any(_is_constrained(mark.options) for mark, _ in latest)


def _is_constrained(options: RequestOptions) -> bool:
    return bool(options.choices) or options.favoured_token is not None


def _finding(evidence: Evidence, outcome: Outcome, message: str) -> Finding:
    return Finding(
        detector=_NAME,
        outcome=outcome,
        reason=Reason.VOCABULARY_COLLAPSED,
        message=message,
        probe_label=evidence.probe.label,
        is_confirmed=outcome is Outcome.VIOLATION,
    )
