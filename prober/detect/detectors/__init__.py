"""The registry of detectors: pure checks of one axis each. A new one touches its own file and one line here."""

from typing import Protocol

from prober.detect.detectors.cache_sharing import detect_cache_sharing
from prober.detect.detectors.cohorts import detect_cohorts
from prober.detect.detectors.drift import detect_drift
from prober.detect.detectors.duplicate_answer import detect_duplicate_answer
from prober.detect.detectors.foreign_canary import detect_foreign_canary
from prober.detect.detectors.foreign_text import detect_foreign_text
from prober.detect.detectors.garble import detect_garble
from prober.detect.detectors.liveness import detect_liveness
from prober.detect.detectors.lost_under_load import detect_lost_under_load
from prober.detect.detectors.malformed_request import detect_malformed_request
from prober.detect.detectors.own_recall import detect_own_recall
from prober.detect.detectors.prefill_floor import detect_prefill_floor
from prober.detect.detectors.protocol import detect_protocol
from prober.detect.detectors.reasoning_budget import detect_reasoning_budget
from prober.detect.detectors.replay import detect_replay
from prober.detect.detectors.status_contract import detect_status_contract
from prober.detect.detectors.stream import detect_stream
from prober.detect.detectors.tokens import detect_tokens
from prober.detect.detectors.usage import detect_usage
from prober.detect.detectors.vocabulary import detect_vocabulary
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding


class Detector(Protocol):
    """A pure check. No finding means: nothing to say on this axis; silence is never a clean bill."""

    __name__: str

    def __call__(self, evidence: Evidence, /) -> tuple[Finding, ...]:
        """Judge one probe."""
        ...


DETECTORS: tuple[Detector, ...] = (
    detect_foreign_canary,
    detect_status_contract,
    detect_malformed_request,
    detect_own_recall,
    detect_replay,
    detect_duplicate_answer,
    detect_vocabulary,
    detect_reasoning_budget,
    detect_prefill_floor,
    detect_cache_sharing,
    detect_usage,
    detect_foreign_text,
    detect_garble,
    detect_tokens,
    detect_stream,
    detect_protocol,
    detect_lost_under_load,
    detect_drift,
    detect_cohorts,
    detect_liveness,
)
"""In the order of their weight. `status_contract` speaks, or `malformed_request` for it: every probe has a finding."""
