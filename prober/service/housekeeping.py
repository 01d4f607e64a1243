"""What a replica does beside probing: shows budgets as their windows end, and prunes the database."""

import asyncio
from collections.abc import Awaitable, Callable

from prober.domain.errors import LedgerError
from prober.store.retention import Pruning
from prober.telemetry.logs import Log

REFRESH_SECONDS = 60.0
"""Windows of budgets end on the hour: nobody minds a minute."""

FIRST_PRUNE_SECONDS = 600.0
"""A replica that is restarted again and again still prunes, and a start is not slowed by it."""

PRUNE_SECONDS = 6 * 3600.0
"""Ages are days: four times a day keeps each batch small. Replicas may prune at once."""


async def refresh_now_and_then(refresh: Callable[[], Awaitable[None]], *, log: Log) -> None:
    """Show budgets anew each minute until cancelled; a database that is gone is tried again."""
    while True:
        await _patiently("budgets_not_shown", refresh, log)
        await asyncio.sleep(REFRESH_SECONDS)


async def prune_now_and_then(prune: Callable[[], Awaitable[Pruning]], *, log: Log) -> None:
    """Prune a while after the start, then some times a day, until cancelled; a database that is gone is tried again."""

    async def once() -> None:
        pruned = await prune()
        log.info(
            "pruned", rows=sum(pruned.rows.values()), bytes_before=pruned.bytes_before, bytes_after=pruned.bytes_after
        )
        if pruned.is_above_cap:
            log.warning("database_above_cap", advice="raise retention.max_mebibytes or shorten the ages")

    await asyncio.sleep(FIRST_PRUNE_SECONDS)
    while True:
        await _patiently("not_pruned", once, log)
        await asyncio.sleep(PRUNE_SECONDS)


async def _patiently(event: str, step: Callable[[], Awaitable[None]], log: Log) -> None:
    try:
        await step()
    except LedgerError as error:
        log.warning(event, reason=str(error))
