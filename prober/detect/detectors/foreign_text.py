"""Text that the prompt cannot explain: real victims' prompts carry no canary."""

from prober.detect.recall import has_reasoned, is_decisive_missed, is_free, is_reliable
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome

_NAME = "foreign_text"

LEAST_NOVELTY = 0.6
"""Natural English passages of 50 words: median novelty 0.90, 0.1 % quantile 0.72, least of 3,000 passages 0.54."""

LEAST_WORDS = 50
LEAST_RUN = 25
"""In an answer too short for the share: so many novel words in a row."""


def detect_foreign_text(evidence: Evidence) -> tuple[Finding, ...]:
    """Warn (SUSPECT) when a whole answer is mostly novel words and the END needle is missing.

    The prompt asks for needles and a copy of filler: honest answers are closed-world. Known honest exceptions stay
    silent: refusals, reasoning (free wording), constrained answers, truncated prompts, whose closing question was cut
    off, and LLMs that have not passed the positive control of recall: they invent. INCONCLUSIVE where the LLM passed it
    but misses more than one needle in twenty, or has not yet had the trials to show that it does not.
    """
    reading = evidence.reading
    if evidence.answer is not Answer.SERVED_FULL or reading.is_refusal_like or has_reasoned(evidence):
        return ()
    if not evidence.history.is_recall_proven or not is_free(evidence.probe):
        return ()
    is_mostly_novel = reading.words >= LEAST_WORDS and reading.novelty >= LEAST_NOVELTY
    is_long_run = reading.words < LEAST_WORDS and reading.longest_novel_run >= LEAST_RUN
    if not is_decisive_missed(evidence) or not (is_mostly_novel or is_long_run):
        return ()
    trials, passes = evidence.history.recall_trials, evidence.history.recall_passes
    is_news = is_reliable(trials, passes)
    doubt = "" if is_news else f" The LLM, which knew {passes} of {trials} needles so far, may have made them up."
    return (
        Finding(
            detector=_NAME,
            outcome=Outcome.SUSPECT if is_news else Outcome.INCONCLUSIVE,
            reason=Reason.FOREIGN_TEXT,
            message=(
                f"{reading.novel_words} of the answer's {reading.words} words stand nowhere in its prompt (longest run "
                f"{reading.longest_novel_run}), and the decisive needle is missing.{doubt}"
            ),
            probe_label=evidence.probe.label,
        ),
    )
