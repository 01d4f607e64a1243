"""One generation over one HTTP exchange: the gateway's events on one side, a socket on the other."""

import asyncio
import contextlib
import dataclasses
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable

from starlette.types import Receive, Send

from prober.domain.errors import LabError
from prober.lab.events import Chunk, Done, FrontEvent, Head, Rejection, Service, Severed, Stage
from prober.lab.records import AnswerKind, Recording
from prober.lab.surfaces.frames import EVENT_STREAM_TYPE, JSON_TYPE
from prober.lab.surfaces.shape import Refused, Shape, Whole

Headers = dict[str, str]
ShapeOf = Callable[[Head], Shape]
"""How an answer with this head looks."""


@dataclasses.dataclass(slots=True, kw_only=True)
class Reply:
    """The response being written. `headers` go out with the first byte."""

    send: Send
    recording: Recording
    headers: Headers
    is_started: bool = False

    async def refuse(self, refused: Refused, kind: AnswerKind) -> None:
        """Answer with a status and a whole body."""
        await self._whole(refused.status, refused.content_type, refused.body)
        self.recording.end(kind)

    async def stream(self, frames: bytes) -> None:
        """Write frames, with status 200 ahead of the first ones."""
        if not self.is_started:
            await self._start(200, EVENT_STREAM_TYPE, {})
        if frames:
            await self.send({"type": "http.response.body", "body": frames, "more_body": True})

    async def end_stream(self, frames: bytes) -> None:
        """Write the last frames and close the body."""
        await self.stream(frames)
        await self.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def whole(self, body: bytes) -> None:
        """Answer 200 with a JSON body."""
        await self._whole(200, JSON_TYPE, body)

    async def _whole(self, status: int, content_type: str, body: bytes) -> None:
        await self._start(status, content_type, {"content-length": str(len(body))})
        await self.send({"type": "http.response.body", "body": body, "more_body": False})

    async def _start(self, status: int, content_type: str, extra: Headers) -> None:
        headers = {"content-type": content_type, **extra, **self.headers}
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        self.recording.status = status
        self.is_started = True
        await self.send({"type": "http.response.start", "status": status, "headers": pairs})


async def stream_answer(events: AsyncGenerator[FrontEvent, None], shape_of: ShapeOf, reply: Reply) -> None:
    """Write an event stream. Headers go out with the first output, never before: SGLang's habit.

    A scheduler's refusal is HTTP 200 with an error frame; the tokenizer's and the router's have a status of their own
    unless text has already gone out.
    """
    async with contextlib.aclosing(events):
        async for event, shape in _shaped(events, shape_of, reply):
            match event:
                case Chunk():
                    await _write_chunk(event, shape, reply)
                case Rejection():
                    await _write_rejection(event, shape, reply)
                    return
                case Done():
                    _count(reply.recording, event)
                    opening = b"" if reply.is_started else shape.first()
                    await reply.end_stream(opening + shape.last(event))
                    reply.recording.end(AnswerKind.SERVED)
                    return
                case Severed():
                    await reply.end_stream(b"" if reply.is_started else shape.first())
                    reply.recording.end(AnswerKind.SEVERED)
                    return
    raise LabError("a generation ended without saying how")


async def whole_answer(events: AsyncGenerator[FrontEvent, None], shape_of: ShapeOf, reply: Reply) -> None:
    """Write one JSON answer once all of it is there. Every refusal has a status of its own."""
    chunks: list[Chunk] = []
    async with contextlib.aclosing(events):
        async for event, shape in _shaped(events, shape_of, reply):
            match event:
                case Chunk():
                    chunks.append(event)
                case Rejection():
                    await reply.refuse(shape.refused(event), AnswerKind.REJECTED)
                    return
                case Done():
                    _count(reply.recording, event)
                    body = shape.whole(_joined(chunks, event))
                    reply.recording.content_is_due()
                    await reply.whole(body)
                    reply.recording.end(AnswerKind.SERVED)
                    return
                case Severed():
                    await reply.whole(shape.whole(_joined(chunks, _NOTHING)))
                    reply.recording.end(AnswerKind.SEVERED)
                    return
    raise LabError("a generation ended without saying how")


_NOTHING = Done(finish_reason="", prompt_tokens=0, completion_tokens=0)
"""What is said of an answer of which nothing is known."""


async def _shaped(
    events: AsyncGenerator[FrontEvent, None], shape_of: ShapeOf, reply: Reply
) -> AsyncIterator[tuple[Chunk | Rejection | Done | Severed, Shape]]:
    """Events after a head, each in the shape of the latest head: two answers in one stream show as two.

    What comes ahead of any head was taken from another's answer amid it: a front end gives it the id of the request
    that it answers, as it knows no other.
    """
    answer_id = reply.recording.unique_id
    shape = shape_of(Head(answer_id=answer_id, service=Service(answer_of=answer_id, backend="")))
    async for event in events:
        if isinstance(event, Head):
            shape = shape_of(event)
            reply.headers.update(event.headers)
            reply.recording.service = event.service
        else:
            yield event, shape


async def run_until(
    work: Coroutine[object, object, None], endings: Iterable[Coroutine[object, object, object]]
) -> bool:
    """Run `work` unless one of `endings` returns first; then cancel it, which closes what it holds open.

    Returns:
        True when `work` ran to its end. Its exceptions are raised here.
    """
    task = asyncio.ensure_future(work)
    watchers = [asyncio.ensure_future(ending) for ending in endings]
    try:
        await asyncio.wait((task, *watchers), return_when=asyncio.FIRST_COMPLETED)
        is_finished = task.done()
    finally:
        for each in (task, *watchers):
            each.cancel()
        await asyncio.wait((task, *watchers))
    if not task.cancelled():
        task.result()
    return is_finished


async def disconnected(receive: Receive) -> None:
    """Return once the client has hung up. The body must have been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _write_chunk(chunk: Chunk, shape: Shape, reply: Reply) -> None:
    frames = shape.chunk(chunk)
    if not reply.is_started:
        await reply.stream(shape.first())
    if frames:
        reply.recording.content_is_due()
        await reply.stream(frames)


async def _write_rejection(rejection: Rejection, shape: Shape, reply: Reply) -> None:
    if rejection.stage is not Stage.SCHEDULER and not reply.is_started:
        await reply.refuse(shape.refused(rejection), AnswerKind.REJECTED)
        return
    await reply.end_stream(shape.broken(rejection))
    reply.recording.end(AnswerKind.REJECTED_IN_STREAM)


def _joined(chunks: list[Chunk], done: Done) -> Whole:
    return Whole(
        content="".join(chunk.content for chunk in chunks),
        reasoning="".join(chunk.reasoning for chunk in chunks),
        done=done,
        logprobs=tuple(itertools.chain.from_iterable(chunk.logprobs for chunk in chunks if chunk.content)),
    )


def _count(recording: Recording, done: Done) -> None:
    recording.prompt_tokens = done.prompt_tokens
    recording.completion_tokens = done.completion_tokens
