"""One lab in a child process of its own."""

import contextlib
from collections.abc import AsyncIterator, Mapping

from prober.service.lab_host import LabOrder, lab_host


@contextlib.asynccontextmanager
async def lab_process(
    scene: str, keys: Mapping[str, str], *, shrink: int = 1, time_scale: float | None = None
) -> AsyncIterator[str]:
    """Serve a scene on a free loopback port; yields its URL, ends the process behind the caller.

    Arguments as in `LabOrder`.

    Raises:
        LabError: it did not become ready.
    """
    order = LabOrder(scene=scene, keys=keys, shrink=shrink, time_scale=time_scale)
    async with lab_host() as host, host.lab(order) as lab:
        yield lab.url
