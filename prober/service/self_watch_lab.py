"""What the self-test probes: a small cluster that really leaks, in a child process that lives as long as the test.

It leaks as the motivating incident did (docs/lab.md, `stub_handoff`): a refused prompt is handed on as a stub, and the
half that decodes answers from pages that other tenants wrote.
"""

import contextlib
import secrets
from collections.abc import AsyncIterator, Callable

from prober.config.schema import ProbingSettings, TargetSettings, TenantSettings
from prober.config.secret import Secret
from prober.domain.canary import TENANT_BITS
from prober.lab.scenes import stage_scene
from prober.service.lab_host import HostedLab, LabOrder, lab_host

SCENE = "small-disaggregated"
FAULT = "stub_handoff"
SCENARIO = "seed_and_probe"
TENANTS = ("alpha", "bravo", "charlie")
HANG_SECONDS = 20.0

LabOpening = Callable[[LabOrder], contextlib.AbstractAsyncContextManager[HostedLab]]


@contextlib.asynccontextmanager
async def child_lab(order: LabOrder) -> AsyncIterator[HostedLab]:
    """Serve a lab in a child process of its own; both end behind the caller.

    Raises:
        LabError: it did not become ready.
    """
    async with lab_host() as host, host.lab(order) as lab:
        yield lab


def leaking_lab() -> LabOrder:
    """Order a lab that leaks, with fresh API keys."""
    keys = {f"lab-{secrets.token_hex(12)}": tenant for tenant in TENANTS}
    return LabOrder(scene=SCENE, keys=keys, faults={FAULT: 1.0})


def target_of(order: LabOrder, url: str) -> TargetSettings:
    """Configure that lab as a target. Its tenants have the highest numbers there are: the loader gives the lowest."""
    scene, last = stage_scene(order.scene), (1 << TENANT_BITS) - 1
    return TargetSettings(
        url=f"{url}/v1",
        dialect="openai-chat",
        model=scene.model,
        build=scene.version,
        context_tokens=scene.context_tokens,
        prefill_pool_tokens=scene.prefill_pool_tokens,
        decode_pool_tokens=scene.decode_pool_tokens,
        page_tokens=scene.page_tokens,
        shared=False,
        hang_seconds=HANG_SECONDS,
        tenants=tuple(
            TenantSettings(name=tenant, number=last - index, credential=Secret(key))
            for index, (key, tenant) in enumerate(order.keys.items())
        ),
        scenarios=(SCENARIO,),
        settings=ProbingSettings(anchor_probes=3, over_limit_probes=2),
    )
