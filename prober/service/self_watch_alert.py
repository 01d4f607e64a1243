"""The self-test's last step: the issue's notices through outbox and sender to a receiver that pages nobody."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator

from prober.config.schema import Settings
from prober.domain.errors import LedgerError
from prober.domain.finding import Reason
from prober.domain.self_test import SELF_TEST
from prober.notify.receiver import Receiver
from prober.service.deliveries import Deliveries
from prober.service.self_watch_receiver import OwnReceiver, own_receiver
from prober.store.database import Database
from prober.store.outbox import Outbox
from prober.store.self_test_rows import told
from prober.telemetry.logs import Log
from prober.wiring.prober import Prober
from prober.wiring.self_test import flagged_receiver, flagged_sender, own_sender
from prober.wiring.system import SystemClock

RETRY_SECONDS = 0.25
"""Between two looks; a receiver that failed is left alone for a second at least."""

CHANGES = ("issue.opened", "issue.resolved")
"""What the receiver must have heard, in order: whoever keeps alerts is left with none."""


class NotToldError(Exception):
    """The receiver did not hear what it must; the text is in our words."""


async def alert(prober: Prober, settings: Settings, name: str, log: Log) -> None:
    """Tell that the issue was opened, settle it, tell that.

    Args:
        prober: that ran the self-test.
        settings: of the service, which may name a receiver.
        name: of the self-test.
        log: tells of attempts that failed.

    Raises:
        NotToldError: the receiver refused, or there was nothing to tell.
        LedgerError: the database failed.
    """
    async with _receiver(settings, name) as (sender, own):
        clock = SystemClock()
        deliveries = Deliveries(
            outbox=Outbox(prober.database, clock, SELF_TEST),
            issues=prober.issues,
            receivers=[sender],
            clock=clock,
            series=prober.metrics.notifications,
            log=log,
            jitter=lambda: 0.0,
        )
        await _deliver(deliveries, prober.database, name, expected=1)
        for issue in await prober.issues.listed(target=name):
            if issue.reason is Reason.FOREIGN_CANARY:
                await prober.issues.resolve(issue.issue_id, by=SELF_TEST)
        await _deliver(deliveries, prober.database, name, expected=len(CHANGES))
    if own is not None and own.taken != [(change, name, Reason.FOREIGN_CANARY.value) for change in CHANGES]:
        raise NotToldError("the receiver took something else than what was sent")


@contextlib.asynccontextmanager
async def _receiver(settings: Settings, name: str) -> AsyncIterator[tuple[Receiver, OwnReceiver | None]]:
    """Give the way to the configured receiver or, where there is none, to one of our own."""
    flagged = flagged_receiver(settings)
    if flagged is not None:
        # Certificates are read: some 50 ms.
        yield await asyncio.to_thread(flagged_sender, settings, flagged, name), None
        return
    secret = secrets.token_hex(16)
    async with own_receiver(secret) as own:
        yield own_sender(own.url, secret, name), own


async def _deliver(deliveries: Deliveries, database: Database, name: str, *, expected: int) -> None:
    """Send until so many notices were taken in all, and none waits."""
    while True:
        try:
            await deliveries.deliver_once()
        except ExceptionGroup as group:
            failures, others = group.split(LedgerError)
            if failures is None or others is not None:
                raise
            raise LedgerError(str(_first(failures))) from None
        state = await told(database, name)
        if state.failed:
            raise NotToldError(f"the receiver refused a notice ({state.last_answer})")
        if not state.pending:
            break
        await asyncio.sleep(RETRY_SECONDS)
    if state.sent < expected:
        raise NotToldError("the outbox holds no notice of it")


def _first(group: BaseException) -> BaseException:
    return _first(group.exceptions[0]) if isinstance(group, BaseExceptionGroup) else group
