"""What holds for every detector, on any evidence that can come about."""

import dataclasses
import inspect

import pytest
from hypothesis import given, settings

from prober.detect.detectors import DETECTORS, Detector
from prober.detect.ladder import settle
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding
from prober.domain.observation import FailureKind, Observation, Refusal, RefusalReason
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation
from prober.domain.reading import Recall
from tests.support.evidence import (
    NOON,
    NOTHING_READ,
    a_probe,
    an_evidence,
    evidences,
)

ANY = settings(max_examples=100, derandomize=True, deadline=None)


def test_every_detector_module_is_registered_once():
    """One file, one function named after it, one line in the registry."""
    names = [detector.__name__ for detector in DETECTORS]
    assert len(set(names)) == len(names)
    for detector in DETECTORS:
        module = inspect.getmodule(detector).__name__.rsplit(".", 1)[-1]
        assert detector.__name__ == f"detect_{module}"


@pytest.mark.no_coverage
@settings(ANY, max_examples=400)
@given(evidence=evidences())
def test_every_detector_is_a_pure_total_function_whose_findings_are_well_formed(evidence: Evidence):
    """Same evidence, same findings; each names its detector and probe, in one plain sentence of ours."""
    for detector in DETECTORS:
        found = detector(evidence)
        assert isinstance(found, tuple)
        assert found == detector(evidence)
        _check_form(detector, evidence, found)


def _check_form(detector: Detector, evidence: Evidence, found: tuple[Finding, ...]) -> None:
    for finding in found:
        assert isinstance(finding, Finding)
        assert detector.__name__ == f"detect_{finding.detector}"
        assert finding.probe_label == evidence.probe.label
        assert finding.kinds == (), "kinds are named once, for all detectors"
        assert finding.message[0].isupper() or finding.message[0].isdigit()
        assert finding.message.endswith(".")
        assert "\n" not in finding.message
        assert finding.outcome is Outcome.VIOLATION or not finding.is_confirmed


@pytest.mark.no_coverage
@ANY
@given(evidence=evidences())
def test_every_probe_gets_a_finding_and_the_ladder_only_ever_raises(evidence: Evidence):
    """Status always speaks; settling keeps number and order and lowers nothing."""
    found = tuple(finding for detector in DETECTORS for finding in detector(evidence))
    settled = settle(evidence, found)

    assert found
    assert len(settled) == len(found)
    for before, after in zip(found, settled, strict=True):
        assert after.outcome.rank >= before.outcome.rank
        assert after.is_confirmed >= before.is_confirmed
        assert (after.detector, after.reason) == (before.detector, before.reason)
        assert after.outcome is before.outcome or after.outcome is Outcome.VIOLATION
    assert settle(evidence, settled) == settled or any(f.outcome is Outcome.VIOLATION for f in settled)


NOTHING = [
    (Answer.HANG, {"failure": FailureKind.HANG}),
    (Answer.UNREACHABLE, {"failure": FailureKind.CONNECT}),
    (Answer.UNREACHABLE, {"failure": FailureKind.INTERNAL}),
    (Answer.MALFORMED, {"failure": FailureKind.CLOSED_EARLY}),
    (Answer.MALFORMED, {}),
    (Answer.ABANDONED, {"failure": FailureKind.ABANDONED}),
    (Answer.EMPTY, {"status": 200, "is_terminated": True}),
    (Answer.SERVER_ERROR, {"status": 500}),
    (Answer.BUSY, {"status": 429, "refusal": Refusal(reason=RefusalReason.RATE)}),
    (Answer.UNAUTHORISED, {"status": 403, "refusal": Refusal(reason=RefusalReason.AUTH)}),
    (Answer.TOO_MANY_BYTES, {"status": 413, "refusal": Refusal(reason=RefusalReason.BYTES)}),
]


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda detector: detector.__name__)
@pytest.mark.parametrize("expectation", Expectation)
@pytest.mark.parametrize(("answer", "changes"), NOTHING)
def test_an_observation_with_nothing_in_it_is_never_clean(
    detector: Detector, expectation: Expectation, answer: Answer, changes: dict[str, object]
):
    """What could not be judged is not green, on any axis, under any expectation."""
    asked = Recall(asked=an_evidence().reading.recall.asked, found=())
    evidence = an_evidence(
        answer=answer,
        probe=a_probe(expectation=expectation),
        observation=Observation(sent_at=NOON, **changes),
        reading=dataclasses.replace(NOTHING_READ, recall=asked),
    )
    assert all(finding.outcome is Outcome.INCONCLUSIVE for finding in detector(evidence))
