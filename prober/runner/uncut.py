"""Lets what was seen be written down, though the run is being ended."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from prober.domain.errors import LeaseLostError
from prober.runner.ports import Telemetry

COMPONENT = "runner"
"""Name under which a fault of the run itself is reported."""

Given = TypeVar("Given")


async def uncut(work: Coroutine[Any, Any, Given], telemetry: Telemetry) -> Given:
    """Await work to its end; a cancellation meanwhile goes on behind it. A second one ends the work too.

    A fault of the work that the cancellation hides is reported; that the job is another replica's is none.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
            await asyncio.wait([task])
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, LeaseLostError):
            telemetry.internal_error(COMPONENT, error)
        raise
