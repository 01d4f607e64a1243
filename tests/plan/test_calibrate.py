"""Learning token counts from small probes."""

import pytest

from prober.domain.answer import Answer
from prober.domain.probe import Role
from prober.plan.calibrate import calibrate
from tests.support.scripted import REJECTED, Reply, failing, play, target_of, tenants_of

TENANT = tenants_of(1)[0]


def test_counts_become_a_calibration():
    """Served counts that are additive give an exact calibration that knows which LLM it belongs to."""
    played = play(calibrate(target_of(), TENANT), target_of(), lambda *_: Reply())
    assert played.returned.is_exact
    assert played.returned.line_tokens == 17
    assert played.returned.model_reported == "glm"
    assert {probe.role for probe in played.probes} == {Role.CALIBRATION}
    assert all(len(wave.probes) == 1 for wave in played.waves)


def test_counts_stated_by_refusals_are_as_good():
    """A refusal that states the server's count calibrates too."""
    played = play(calibrate(target_of(), TENANT), target_of(), lambda *_: REJECTED)
    assert played.returned.is_exact


@pytest.mark.parametrize(
    "reply", [Reply(is_counted=False), failing(Answer.BUSY), failing(Answer.HANG), failing(Answer.REROUTED)]
)
def test_a_missing_count_ends_the_calibration_at_once(reply: Reply):
    """Without a count, or with another LLM's, nothing more is sent and nothing is returned."""
    played = play(calibrate(target_of(), TENANT), target_of(), lambda *_: reply)
    assert played.returned is None
    assert len(played.probes) == 1


def test_counts_that_do_not_add_up_are_no_calibration():
    """Counts that do not grow with the prompt cannot be trusted for anything."""
    played = play(calibrate(target_of(), TENANT), target_of(), lambda *_: Reply(prompt_tokens=7))
    assert played.returned is None


def test_labels_of_a_second_calibration_differ():
    """A recalibration within one run has labels of its own."""
    labels = [
        {probe.label for probe in play(calibrate(target_of(), TENANT, attempt), target_of(), lambda *_: Reply()).probes}
        for attempt in (1, 2)
    ]
    assert labels[0].isdisjoint(labels[1])
