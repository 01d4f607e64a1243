"""What a detector may look at: probe + observation + the run so far. No answer text reaches a detector."""

import dataclasses
import datetime as dt
import enum
from collections.abc import Mapping

from prober.domain.finding import Finding
from prober.domain.observation import Observation
from prober.domain.outcome import Outcome, worst
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from prober.domain.reading import Reading
from prober.domain.target import Target


class Answer(enum.Enum):
    """What the remote did with one probe (design section 4)."""

    SERVED_FULL = "served_full"
    TRUNCATED = "truncated"
    REROUTED = "rerouted"
    EMPTY = "empty"
    STARVED = "starved"
    REJECTED_OK = "rejected_ok"
    REJECTED_IN_STREAM = "rejected_in_stream"
    REFUSED_OTHERWISE = "refused_otherwise"
    HANG = "hang"
    ABANDONED = "abandoned"
    BUSY = "busy"
    UNAUTHORISED = "unauthorised"
    NOT_FOUND = "not_found"
    TOO_MANY_BYTES = "too_many_bytes"
    SERVER_ERROR = "server_error"
    MALFORMED = "malformed"
    UNREACHABLE = "unreachable"

    @property
    def is_served(self) -> bool:
        """The remote generated an answer (whole or not)."""
        return self in _SERVED

    @property
    def is_rejected(self) -> bool:
        """Refused for its length: by status, or by an error frame."""
        return self in {Answer.REJECTED_OK, Answer.REJECTED_IN_STREAM}


_SERVED = frozenset({Answer.SERVED_FULL, Answer.TRUNCATED, Answer.REROUTED, Answer.EMPTY, Answer.STARVED})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The run so far, folded: what detectors may compare with. Grows by `detect.history.advance` only."""

    anchors: Mapping[int, tuple[float, ...]] = dataclasses.field(default_factory=dict)
    """Verified prefill timings: prompt tokens of the anchor size -> first-token seconds of its sound answers."""
    quickest_first_token: float | None = None
    """Least first-token seconds of any sound answer, whatever its size: bounds what does not grow with the prompt."""
    recall_score: float = 0.0
    """CUSUM statistic of missed recalls, in nats."""
    recall_trials: int = 0
    recall_passes: int = 0
    is_recall_proven: bool = False
    """The LLM has shown in this run that it finds the decisive needle: only then does a missing one tell anything."""
    fast_probe_labels: tuple[str, ...] = ()
    """Labels of the unbroken latest streak of too-fast answers."""
    fast_until: dt.datetime | None = None
    """When the last too-fast answer of that streak ended; aware, UTC. None: no streak, or not known."""
    cached_tokens_baseline: int | None = None
    """Largest `cached_tokens` seen on never-sent text; None: the field was never reported."""
    models_reported: tuple[str, ...] = ()
    probes: int = 0
    conclusive: int = 0
    clean: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All a detector may look at. `observation` arrives with its text channels emptied."""

    target: Target
    probe: Probe
    prompt: Prompt
    observation: Observation
    answer: Answer
    reading: Reading
    history: History


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Evidence with its findings, ladder applied: what scenarios receive and the ledger records."""

    evidence: Evidence
    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        """Worst finding; no finding at all is INCONCLUSIVE."""
        return worst(finding.outcome for finding in self.findings)

    @property
    def is_confirmed_violation(self) -> bool:
        """A violation that needs no further probe."""
        return any(f.outcome is Outcome.VIOLATION and f.is_confirmed for f in self.findings)


WaveEvidence = tuple[Judgement, ...]
"""One judgement per probe of the wave, in the wave's order."""
