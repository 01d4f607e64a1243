"""The way of one request through the front door: key, body, checks, gateway, answer."""

import datetime as dt
import uuid

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from prober.lab.events import GenerateRequest, Head
from prober.lab.records import MAX_ID_CHARACTERS, AnswerKind, Recording
from prober.lab.surfaces.asking import Asked
from prober.lab.surfaces.context import SurfaceContext
from prober.lab.surfaces.exchange import Reply, disconnected, run_until, stream_answer, whole_answer
from prober.lab.surfaces.fields import RequestError, parse_object
from prober.lab.surfaces.shape import Refused, Shape, Stamp
from prober.lab.surfaces.surface import Surface

SESSION_HEADER = "x-session-affinity"
"""Workers AI's name for the key that pins requests to one instance."""

DRAINED_BEYOND_LIMIT = 8
"""A body above the limit is read and thrown away up to so many times the limit, so that the refusal reaches the client
instead of a reset connection."""


class Generation:
    """ASGI application of one generating route."""

    def __init__(self, context: SurfaceContext, surface: Surface) -> None:
        self._context = context
        self._surface = surface

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request to its end, whatever the client does meanwhile."""
        request = Request(scope, receive)
        client_id = request.headers.get("x-request-id", "")[:MAX_ID_CHARACTERS]
        unique_id = uuid.uuid4().hex
        recording = self._context.records.open(self._surface.name, client_id, unique_id)
        reply = Reply(send=send, recording=recording, headers={"x-request-id": client_id or unique_id})
        self._context.in_flight += 1
        try:
            await self._serve(request, reply)
        except ClientDisconnect:
            recording.end(AnswerKind.ABANDONED)
        finally:
            self._context.in_flight -= 1
            recording.end(AnswerKind.FAILED)

    async def _serve(self, request: Request, reply: Reply) -> None:
        surface, context = self._surface, self._context
        tenant = context.keys.tenant(request.headers.get("authorization"))
        body = await self._body(request)
        reply.recording.body_is_complete(len(body) if body is not None else context.settings.max_body_bytes)
        if tenant is None:
            await reply.refuse(surface.unauthorised(), AnswerKind.UNAUTHORISED)
            return
        reply.recording.tenant = tenant
        if body is None:
            await reply.refuse(surface.too_many_bytes(), AnswerKind.TOO_MANY_BYTES)
            return
        asked = self._ask(request, body)
        if isinstance(asked, Refused):
            await reply.refuse(asked, AnswerKind.INVALID)
        elif asked.rejects_if_busy and context.in_flight > context.settings.busy_above:
            await reply.refuse(surface.busy(), AnswerKind.BUSY)
        else:
            await self._generate(request, asked, reply)

    async def _body(self, request: Request) -> bytes | None:
        """Read the whole body; None when it is above the limit."""
        limit = self._context.settings.max_body_bytes
        parts: list[bytes] = []
        size = 0
        async for part in request.stream():
            size += len(part)
            if size <= limit:
                parts.append(part)
            else:
                parts.clear()
            if size > limit * DRAINED_BEYOND_LIMIT:
                break
        return b"".join(parts) if size <= limit else None

    def _ask(self, request: Request, body: bytes) -> Asked | Refused:
        try:
            fields = parse_object(body)
            # Workers AI names the LLM in the path; a name in the body then counts for nothing.
            if "model" in request.path_params:
                fields["model"] = request.path_params["model"]
            return self._surface.ask(fields)
        except RequestError as error:
            return self._surface.invalid(str(error))

    async def _generate(self, request: Request, asked: Asked, reply: Reply) -> None:
        created = int(dt.datetime.now(dt.UTC).timestamp())

        def shape_of(head: Head) -> Shape:
            stamp = Stamp(
                answer_id=head.answer_id,
                created=created,
                model=head.model or asked.model,
                fingerprint=head.fingerprint,
            )
            return self._surface.shape(asked, stamp)

        events = self._context.gateway.generate(_generate_request(request, asked, reply.recording))
        write = stream_answer if asked.is_stream else whole_answer
        is_finished = await run_until(
            write(events, shape_of, reply), (disconnected(request.receive), self._context.closing.wait())
        )
        if not is_finished and not self._context.closing.is_set():
            reply.recording.end(AnswerKind.ABANDONED)


def _generate_request(request: Request, asked: Asked, recording: Recording) -> GenerateRequest:
    sampling = asked.sampling
    return GenerateRequest(
        tenant=recording.tenant or "",
        messages=asked.messages,
        max_tokens=asked.max_tokens,
        temperature=sampling.temperature,
        stream=asked.is_stream,
        request_id=recording.unique_id,
        client_id=recording.request_id,
        session=request.headers.get(SESSION_HEADER, "")[:MAX_ID_CHARACTERS],
        cache_salt=asked.cache_salt,
        choices=sampling.choices,
        favoured_token=sampling.favoured_token,
        reasoning_budget=sampling.reasoning_budget,
        wants_logprobs=sampling.wants_logprobs,
        late_error=sampling.late_error,
        model=asked.model,
    )
