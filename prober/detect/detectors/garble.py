"""Is the answer corrupted, whoever's text it may be?"""

from prober.detect.charts import LOOPS, SALADS
from prober.detect.corruption import is_looping, is_salad
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome

_NAME = "garble"


def detect_garble(evidence: Evidence) -> tuple[Finding, ...]:
    """Judge scripts, half characters and loops.

    Three non-Latin scripts (vLLM issue #47282), or a U+FFFD that no cut explains (LMCache issue #4492: 30 of 38
    corrupted answers, no control), are SUSPECT at once of an LLM that has shown what it can do: no honest answer to an
    English prompt of English words is known to hold them (fewer than 1 in 10,000). Before that they are INCONCLUSIVE,
    and SUSPECT when a second one comes soon: what is wrong since the start keeps recall from being proven.

    A long loop in place of the answer is INCONCLUSIVE by itself, since weak LLMs loop, and SUSPECT when a second one
    comes within three answers (1 in 10,000 at a rate of 0.2 %). Loops behind a right answer
    are honest, and so are those of an LLM that never recalled.
    """
    if not evidence.answer.is_served:
        return ()
    garble, is_proven = evidence.reading.garble, evidence.history.is_recall_proven
    if is_salad(evidence):
        message = (
            f"The answer holds {garble.scripts} non-Latin scripts and {garble.replacements} broken characters, which "
            "nothing in its prompt explains."
        )
        outcome = Outcome.SUSPECT if is_proven or SALADS.alarms(evidence) else Outcome.INCONCLUSIVE
        return (_finding(evidence, outcome, message),)
    if is_proven and is_looping(evidence):
        outcome = Outcome.SUSPECT if LOOPS.alarms(evidence) else Outcome.INCONCLUSIVE
        message = f"In place of what was asked for, the answer repeats one piece for {garble.longest_loop} characters."
        return (_finding(evidence, outcome, message),)
    return ()


def _finding(evidence: Evidence, outcome: Outcome, message: str) -> Finding:
    return Finding(
        detector=_NAME, outcome=outcome, reason=Reason.GARBLED, message=message, probe_label=evidence.probe.label
    )
