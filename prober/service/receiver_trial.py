"""Tries a receiver out: one marked test message, past the outbox."""

import uuid

from prober.domain.notice import TrialNotice
from prober.notify.message import Delivery
from prober.notify.receiver import Receiver
from prober.runner.ports import Clock


async def try_receiver(receiver: Receiver, clock: Clock) -> Delivery:
    """Send a message that says it is a test; return what became of it."""
    now = clock.now()
    return await receiver.send([TrialNotice(event_id=f"test-{uuid.uuid4()}", at=now)], now)
