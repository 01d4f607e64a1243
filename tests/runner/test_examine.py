"""Detectors at work, and what becomes of their crashes."""

import pytest

from prober.detect.detectors import DETECTORS
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome, worst
from prober.runner import examine as examine_module
from prober.runner.examine import Detector, examine
from tests.support.evidence import a_finding, a_probe, an_evidence

Crashes = list[tuple[str, BaseException]]


def detect_nothing(evidence: Evidence) -> tuple[Finding, ...]:
    return ()


def detect_clean(evidence: Evidence) -> tuple[Finding, ...]:
    return (a_finding(Reason.SERVED, Outcome.CLEAN),)


def detect_with_a_bug(evidence: Evidence) -> tuple[Finding, ...]:
    raise KeyError("secret answer text")


def examined(*detectors: Detector) -> tuple[tuple[Finding, ...], Crashes]:
    crashes: Crashes = []
    evidence = an_evidence(probe=a_probe(label="x/1"))
    return examine(evidence, detectors, lambda name, error: crashes.append((name, error))), crashes


def test_findings_come_in_the_registry_s_order():
    """All detectors are asked, whether the ones before found something or not."""
    findings, crashes = examined(detect_clean, detect_nothing, detect_clean)

    assert len(findings) == 2
    assert crashes == []


def test_a_crashed_detector_is_inconclusive_and_the_others_are_still_asked():
    """A crash is told to telemetry by name, judged as not judged, and its text goes nowhere."""
    findings, crashes = examined(detect_with_a_bug, detect_clean)

    assert [finding.reason for finding in findings] == [Reason.DETECTOR_CRASHED, Reason.SERVED]
    assert worst(finding.outcome for finding in findings) is Outcome.INCONCLUSIVE
    assert findings[0].probe_label == "x/1"
    assert findings[0].detector == "detect_with_a_bug"
    assert "secret" not in repr(findings)
    assert [(name, type(error)) for name, error in crashes] == [("detect_with_a_bug", KeyError)]


def test_a_crashed_ladder_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch):
    """Findings that could not be joined stay as they are, beside the crash."""

    def broken(evidence: Evidence, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        raise RuntimeError

    monkeypatch.setattr(examine_module, "settle", broken)
    findings, crashes = examined(detect_clean)

    assert [finding.reason for finding in findings] == [Reason.SERVED, Reason.DETECTOR_CRASHED]
    assert [name for name, _ in crashes] == ["ladder"]


def test_every_warning_is_given_the_kinds_that_it_points_to():
    """What is reported names what to look for; what is clean names nothing."""

    def detect_mixed(evidence: Evidence) -> tuple[Finding, ...]:
        return (a_finding(Reason.GARBLED, Outcome.SUSPECT), a_finding(Reason.SERVED, Outcome.CLEAN))

    findings, crashes = examined(detect_mixed)

    assert [bool(finding.kinds) for finding in findings] == [True, False]
    assert crashes == []


def test_a_crash_in_naming_kinds_keeps_what_was_joined(monkeypatch: pytest.MonkeyPatch):
    """The findings stand without kinds, beside the crash."""

    def broken(evidence: Evidence, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        raise RuntimeError

    monkeypatch.setattr(examine_module, "name_kinds", broken)
    findings, crashes = examined(detect_clean)

    assert [finding.reason for finding in findings] == [Reason.SERVED, Reason.DETECTOR_CRASHED]
    assert [name for name, _ in crashes] == ["suspicion"]


@pytest.mark.parametrize("fault", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_no_crash(fault: type[BaseException]):
    """What ends the process passes through."""

    def interrupted(evidence: Evidence) -> tuple[Finding, ...]:
        raise fault

    with pytest.raises(fault):
        examined(interrupted)


def test_the_registry_finds_a_healthy_answer_clean():
    """The real detectors agree on the evidence that the others here are changed from."""
    findings = examine(an_evidence(), DETECTORS, lambda name, error: pytest.fail(name))

    assert worst(finding.outcome for finding in findings) is Outcome.CLEAN
