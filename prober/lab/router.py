"""The router in front of a prefill and a decode instance: sends both halves, and joins their answers."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TypeVar

from prober.domain.errors import LabError
from prober.lab.crew import Crew
from prober.lab.decode import DecodeRole
from prober.lab.events import Chunk, Done, Event, Rejection, Stage
from prober.lab.fixes import RouterMode
from prober.lab.handoff import Handoff, Job
from prober.lab.prefill import PrefillRole
from prober.lab.seams import Seams
from prober.lab.settings import LabSettings
from prober.lab.timing import Pace

_T = TypeVar("_T")
STOPPED = "the lab was stopped"


class EventPump:
    """Runs a role's event stream in a task of its own, so that hanging up is a plain cancellation."""

    def __init__(self, crew: Crew, events: AsyncIterator[Event]) -> None:
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._task = crew.start(self._run(events))

    async def _run(self, events: AsyncIterator[Event]) -> None:
        try:
            async for event in events:
                self._queue.put_nowait(event)
        finally:
            self._queue.put_nowait(None)

    async def next(self) -> Event:
        """Wait for the next event.

        Raises:
            LabError: the cluster was stopped meanwhile.
        """
        event = await self._queue.get()
        if event is None:
            await _outcome(self._task)
            raise LabError(STOPPED)
        return event

    async def close(self) -> None:
        """End the stream and wait until it has let go of what it held."""
        self._task.cancel()
        await asyncio.wait([self._task])


class Router:
    """One prefill, one decode."""

    def __init__(
        self,
        settings: LabSettings,
        seams: Seams,
        pace: Pace,
        crew: Crew,
        prefill: PrefillRole,
        decode: DecodeRole,
    ) -> None:
        self._settings = settings
        self._seams = seams
        self._crew = crew
        self._pace = pace
        self._prefill = prefill
        self._decode = decode

    async def generate(self, job: Job) -> AsyncGenerator[Event, None]:
        """Stream the answer; closing the generator is the client hanging up."""
        handoff = Handoff(job.room, self._decode.pool, self._decode.metadata)
        prefill = self._crew.start(self._prefill.run(job, handoff))
        decode = EventPump(self._crew, self._decode.run(job, handoff))
        try:
            event = await self._first(prefill, decode)
            while isinstance(event, Chunk):
                yield event
                event = await decode.next()
            yield self._ending(job, event)
        finally:
            await decode.close()
            self._tell_later(prefill)

    def _ending(self, job: Job, event: Event) -> Event:
        """The last event as the client gets it."""
        if not isinstance(event, Rejection) or self._seams.tells_failure(job.room):
            return event
        return Done(finish_reason="length", prompt_tokens=len(job.ids), completion_tokens=0)

    async def _first(self, prefill: asyncio.Task[Rejection | None], decode: EventPump) -> Event:
        """First event that the client sees."""
        first = self._crew.start(decode.next())
        try:
            if self._settings.router is RouterMode.CANCEL_ON_REFUSAL:
                await asyncio.wait([prefill, first], return_when=asyncio.FIRST_COMPLETED)
                refusal = await _outcome(prefill) if prefill.done() else None
                if refusal:
                    return refusal
            if self._settings.router is RouterMode.JOIN:
                event = await _outcome(first)
                is_due = prefill.done() or not isinstance(event, Rejection)
                refusal = await _outcome(prefill) if is_due else None
                return _by_router(refusal) if refusal else event
            return await _outcome(first)
        finally:
            first.cancel()

    def _tell_later(self, prefill: asyncio.Task[Rejection | None]) -> None:
        """A prefill whose client has gone goes on until it notices."""
        if not prefill.done():
            notice = self._pace.real(self._settings.abort_notice_seconds)
            timer = asyncio.get_running_loop().call_later(notice, prefill.cancel)
            prefill.add_done_callback(lambda _task: timer.cancel())


async def _outcome(task: asyncio.Task[_T]) -> _T:
    """Wait for a half; one that was cancelled from elsewhere means that the lab was stopped."""
    await asyncio.wait([task])
    if task.cancelled():
        raise LabError(STOPPED)
    return task.result()


def _by_router(refusal: Rejection) -> Rejection:
    return Rejection(status=refusal.status, message=refusal.message, error_type=refusal.error_type, stage=Stage.ROUTER)
