"""What a detector may look at: probe + observation + the run so far. No answer text reaches a detector."""

import dataclasses
import datetime as dt
from collections.abc import Mapping

from prober.domain.answer import Answer
from prober.domain.finding import Finding
from prober.domain.marks import NO_MARKS, Marks
from prober.domain.observation import Observation
from prober.domain.outcome import Outcome, worst
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from prober.domain.reading import Reading
from prober.domain.series import SeriesTally
from prober.domain.target import Target


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
    marks: Marks = NO_MARKS
    """The latest answers: what comparisons of several probes look back at."""
    references: Marks = NO_MARKS
    """The latest undisturbed answers, those of the latest earlier run included; they outlast the others."""
    series: Mapping[str, SeriesTally] = dataclasses.field(default_factory=dict)
    """By `Trial.series`."""
    scores: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Statistics of `detect.charts`, by the chart's name, in nats; one that is not there stands at 0."""
    whole_recalls: int = 0
    """Fair answers that held all of at least two needles: only then is a missing head a change."""
    accounts: Mapping[int, frozenset[str]] = dataclasses.field(default_factory=dict)
    """Tenant number -> accounts that configuration and answers named for it, as `source:digest`."""
    have_logprobs_agreed: bool = False
    """Some answer's log probabilities added up to its text: only then do others' that do not mean anything."""
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
