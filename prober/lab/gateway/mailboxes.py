"""Delivery of results: each waits in a mailbox until its client takes it."""

import asyncio
import collections
from collections.abc import Hashable

from prober.lab.events import FrontEvent
from prober.lab.seams import Seams


class Mailbox:
    """Results of one request, in order."""

    def __init__(self) -> None:
        self._held: asyncio.Queue[FrontEvent | BaseException] = asyncio.Queue()

    def put(self, held: FrontEvent | BaseException) -> None:
        """Add the next result, or what went wrong instead."""
        self._held.put_nowait(held)

    async def take(self) -> FrontEvent:
        """Wait for the next result; what went wrong is raised."""
        held = await self._held.get()
        if isinstance(held, BaseException):
            raise held
        return held


class Mailboxes:
    """All that are open, by key. What is posted to a key goes to the mailbox that was opened last under it."""

    def __init__(self, counters: collections.Counter[str]) -> None:
        self._open: dict[Hashable, Mailbox] = {}
        self._counters = counters

    def open(self, key: Hashable) -> Mailbox:
        """Begin to keep results under a key."""
        self._counters["mailboxes_overwritten"] += key in self._open
        mailbox = self._open[key] = Mailbox()
        return mailbox

    def post(self, key: Hashable, event: FrontEvent) -> None:
        """Deliver a result; nobody waits for one whose mailbox is closed."""
        if mailbox := self._open.get(key):
            mailbox.put(event)
        else:
            self._counters["results_dropped"] += 1

    def close(self, key: Hashable, mailbox: Mailbox) -> None:
        """Stop keeping results, unless the key is somebody else's by now."""
        if self._open.get(key) is mailbox:
            del self._open[key]


class FanOut:
    """Hands out together the replies that begin within one tick, as a front end does that polls a batch."""

    def __init__(self, seams: Seams, tick_seconds: float) -> None:
        self._seams = seams
        self._tick_seconds = tick_seconds
        """Real; 0: each reply is handed out at once."""
        self._tick = 0
        self._waiting: dict[int, tuple[Hashable, asyncio.Future[Hashable]]] = {}

    async def destination(self, number: int, key: Hashable) -> Hashable:
        """Key that the reply to a request goes to, once its turn has come; `key` is the request's own."""
        if not self._tick_seconds:
            return key
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_later(self._tick_seconds, self._hand_out)
        turn: asyncio.Future[Hashable] = loop.create_future()
        self._waiting[number] = (key, turn)
        try:
            return await turn
        finally:
            self._waiting.pop(number, None)

    def _hand_out(self) -> None:
        replies = [reply for _number, reply in sorted(self._waiting.items(), key=lambda item: item[0])]
        self._waiting.clear()
        if not replies:
            return
        self._tick += 1
        order = self._seams.fan_out_order(self._tick, len(replies))
        for (_key, turn), place in zip(replies, order, strict=True):
            if not turn.done():
                turn.set_result(replies[place][0])
