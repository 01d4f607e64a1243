"""What the self-test probes."""

import httpx
import pytest

from prober.lab.faults import FAULTS
from prober.plan.scenarios import SCENARIOS
from prober.service.lab_host import HostedLab
from prober.service.self_watch_lab import FAULT, SCENARIO, TENANTS, child_lab, leaking_lab, target_of


def test_it_is_configured_as_a_user_would():
    """Its own sizes, three tenants with keys of their own, and the scenario that the fault is found by."""
    order, again = leaking_lab(), leaking_lab()
    target = target_of(order, "http://127.0.0.1:1")

    assert order.faults == {FAULT: 1.0}
    assert FAULT in FAULTS
    assert target.scenarios == (SCENARIO,)
    assert SCENARIO in SCENARIOS
    assert [tenant.name for tenant in target.tenants] == list(TENANTS)
    assert {tenant.credential.reveal() for tenant in target.tenants} == set(order.keys)
    assert not set(order.keys) & set(again.keys)
    assert len({tenant.number for tenant in target.tenants}) == len(TENANTS)
    assert target.prefill_pool_tokens < target.context_tokens


async def test_its_child_lives_as_long_as_the_self_test():
    """Not a second longer: an idle service pays nothing for it."""
    async with child_lab(leaking_lab()) as lab:
        assert isinstance(lab, HostedLab)
        async with httpx.AsyncClient(timeout=10) as client:
            assert (await client.get(f"{lab.url}/v1/models")).status_code < 500
    async with httpx.AsyncClient(timeout=10) as client:
        with pytest.raises(httpx.TransportError):
            await client.get(f"{lab.url}/v1/models")
