"""A gateway with one fault in front of echoing clusters, with and without its fix."""

import dataclasses

import pytest

from prober.lab.faults import FAULTS
from prober.lab.gateway.gateway import Gateway
from prober.lab.gateway_settings import GatewaySettings
from prober.lab.settings import LabSettings
from tests.support.cluster import SMALL

BOTH = pytest.mark.parametrize("is_fixed", [False, True], ids=["as it was", "fixed"])
"""Every fault is shown at work, and unmade by its fix."""


def faulty(
    name: str, *, is_fixed: bool = False, rate: float = 1.0, backends: int = 1, others: int = 0, **gateway: object
) -> LabSettings:
    """Settings with a fault at a rate, its fix built in or not."""
    fixes = FAULTS[name].FIXES if is_fixed else frozenset()
    assert fixes or not is_fixed
    groups = tuple(dataclasses.replace(SMALL, model=f"other-{index}") for index in range(others))
    return dataclasses.replace(
        SMALL,
        faults={name: rate},
        fixes=fixes,
        backends=backends,
        other_groups=groups,
        gateway=GatewaySettings(**gateway),
    )


def strikes(gateway: Gateway) -> int:
    """How often the one fault struck, as `/lab/records` tells it."""
    counters = gateway.facts()["counters"]
    assert isinstance(counters, dict)
    [count] = [count for name, count in counters.items() if name.startswith("fault_")]
    return count
