"""Coroutines at the same time."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

Returned = TypeVar("Returned")


async def together(coroutines: Iterable[Coroutine[Any, Any, Returned]]) -> list[Returned]:
    """Run them side by side; gives what each returned, in their order."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(coroutine) for coroutine in coroutines]
    return [task.result() for task in tasks]
