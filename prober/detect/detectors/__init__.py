"""The registry of detectors: pure checks of one axis each. A new one touches its own file and one line here."""

from typing import Protocol

from prober.detect.detectors.foreign_canary import detect_foreign_canary
from prober.detect.detectors.foreign_text import detect_foreign_text
from prober.detect.detectors.own_recall import detect_own_recall
from prober.detect.detectors.prefill_floor import detect_prefill_floor
from prober.detect.detectors.protocol import detect_protocol
from prober.detect.detectors.status_contract import detect_status_contract
from prober.detect.detectors.usage import detect_usage
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
    detect_own_recall,
    detect_prefill_floor,
    detect_usage,
    detect_foreign_text,
    detect_protocol,
)
"""In the order of their weight. `status_contract` always speaks, so that every probe has at least one finding."""
