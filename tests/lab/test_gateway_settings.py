"""Switches of the gateway."""

import dataclasses

import pytest

from prober.lab.gateway_settings import GatewaySettings
from prober.lab.settings import LabSettings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cached_responses", -1),
        ("retries", -1),
        ("tick_seconds", -0.1),
        ("connection_uses", 0),
        ("window_tokens", 0),
        ("loss_rate", 1.0),
        ("loss_rate", -0.1),
        ("burst_rate", 1.0),
        ("burst_rate", -0.1),
        ("burst_seconds", -0.1),
    ],
)
def test_what_no_gateway_can_do_is_refused(name: str, value: float):
    """A size or rate that makes no sense is a mistake, not a setting."""
    with pytest.raises(ValueError, match=name):
        GatewaySettings(**{name: value})


def test_nothing_is_switched_on_by_default():
    """A lab is one cluster behind a gateway that passes everything on, unless it is told otherwise."""
    settings = LabSettings()
    assert (settings.backends, settings.other_groups) == (1, ())
    assert {value for value in dataclasses.asdict(settings.gateway).values() if value} == {1_000}


@pytest.mark.parametrize("changes", [{"backends": 0}, {"other_groups": (LabSettings(),)}])
def test_groups_are_at_least_one_backend_with_names_of_their_own(changes: dict[str, object]):
    """Without a backend nobody answers, and two groups of one name cannot be told apart."""
    with pytest.raises(ValueError, match="backends must be at least 1"):
        LabSettings(**changes)
