"""Evidence -> findings. A crashed detector is INCONCLUSIVE, never clean, and never ends the run."""

from collections.abc import Callable, Sequence

from prober.detect.ladder import settle
from prober.detect.suspicion import name_kinds
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome

Detector = Callable[[Evidence], tuple[Finding, ...]]
OnCrash = Callable[[str, BaseException], None]


def examine(evidence: Evidence, detectors: Sequence[Detector], on_crash: OnCrash) -> tuple[Finding, ...]:
    """Ask every detector, then let the ladder join their axes, then name the kinds of fault that each points to.

    Args:
        evidence: what may be looked at.
        detectors: in registry order.
        on_crash: told the detector's name and its exception, for the internal-error metric.

    Returns:
        At least one finding.
    """
    findings: list[Finding] = []
    for detector in detectors:
        try:
            findings.extend(detector(evidence))
        except Exception as error:  # noqa: BLE001 - the one broad except of the product: a crash must not read as clean
            on_crash(detector.__name__, error)
            findings.append(_crashed(detector.__name__, evidence))
    settled = tuple(findings)
    for name, step in (("ladder", settle), ("suspicion", name_kinds)):
        try:
            settled = step(evidence, settled)
        except Exception as error:  # noqa: BLE001 - as above: findings are kept as they are
            on_crash(name, error)
            settled = (*settled, _crashed(name, evidence))
    return settled


def _crashed(name: str, evidence: Evidence) -> Finding:
    return Finding(
        detector=name,
        outcome=Outcome.INCONCLUSIVE,
        reason=Reason.DETECTOR_CRASHED,
        message=f"{name} crashed on this probe; it was not judged on this axis.",
        probe_label=evidence.probe.label,
    )
