"""One request and its answer, from connecting to the end, with everything that can go wrong on the way."""

import asyncio
import contextlib
import dataclasses
from collections.abc import Mapping

import httpcore
import httpx

from prober.domain.observation import FailureKind, Refusal
from prober.domain.probe import Disconnect
from prober.endpoint.collector import AnswerCollector, as_read
from prober.endpoint.dialects.dialect import Dialect
from prober.endpoint.disconnect import HangUp
from prober.endpoint.failures import Phase, classify_failure
from prober.endpoint.network import SocketStream, Wire, current_wire
from prober.endpoint.timing import AckWatch, Stopwatch

_REFUSAL_BYTES = 64 * 1024
_STRAGGLER_SECONDS = 0.25
"""After the stream's own end marker: time for its last bytes, so that a kept-alive connection can be used again."""

_THREAD_BYTES = 64 * 1024
"""A body above this size is decoded off the event loop, for the sake of other probes' timing."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How long and how much one exchange may take."""

    connect_seconds: float
    hang_seconds: float
    deadline_seconds: float
    response_bytes: int


class Exchange(Wire):
    """Runs once. Its fields hold all that was seen; what the remote does never raises."""

    def __init__(
        self, dialect: Dialect, stopwatch: Stopwatch, bounds: Bounds, plan: Disconnect | None, *, is_proxied: bool
    ) -> None:
        self._dialect = dialect
        self._stopwatch = stopwatch
        self._bounds = bounds
        self._is_proxied = is_proxied
        self._phase = Phase.CONNECTING
        self._hang_up = HangUp(plan)
        self._hang = asyncio.timeout(bounds.connect_seconds)
        self._deadline = asyncio.timeout(bounds.deadline_seconds)
        self._ack: AckWatch | None = None
        self._refusal_body = bytearray()
        self._refusal: Refusal | None = None
        self.answer: AnswerCollector | None = None
        """None unless the status is 2xx."""
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.failure: FailureKind | None = None
        self.failure_detail = ""
        self.bytes_received = 0
        self.is_whole = False
        """Read to its end: the connection can be used again."""

    @property
    def is_connection_reused(self) -> bool:
        """The request went out on a connection that had carried an answer before."""
        return self._stopwatch.has("request_start") and not self._stopwatch.has("connect_start")

    @property
    def refusal(self) -> Refusal | None:
        """By status, or by an error within a 2xx answer."""
        return self._refusal if self.answer is None else self.answer.refusal

    @property
    def other_text(self) -> str:
        """Body of a refusal by status, or the errors within a 2xx answer."""
        return as_read(bytes(self._refusal_body)) if self.answer is None else self.answer.other_text

    async def run(self, client: httpx.AsyncClient, request: httpx.Request) -> None:
        """Send and receive. Raises nothing but what cancels the task, and then leaves no socket behind."""
        request.extensions = {**request.extensions, "trace": self._trace}
        wire = current_wire.set(self)
        try:
            await self._run_bounded(client, request)
        except Exception as error:  # noqa: BLE001 - the boundary: whatever happened is data
            self._fail_by(error)
        finally:
            current_wire.reset(wire)
            self._stopwatch.mark("end")
            if self._ack is not None:
                self._ack.stop()
            if self.stream is not None and not self.is_whole:
                self.stream.abort()
        await self._decode_rest()

    async def _run_bounded(self, client: httpx.AsyncClient, request: httpx.Request) -> None:
        async with self._deadline, self._hang, self._hang_up.timeout:
            response = await client.send(request, stream=True)
            async with contextlib.aclosing(response):
                await self._receive(response)

    async def _receive(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.headers = response.headers
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            self._fail(FailureKind.PROTOCOL, "the answer is compressed although that was ruled out")
            return
        if response.is_success:
            self.answer = AnswerCollector(
                self._dialect, self._stopwatch, response.headers.get("content-type", "").lower()
            )
        async for chunk in response.aiter_raw():
            self._stopwatch.mark("first_byte")
            self.bytes_received += len(chunk)
            if not (self._take_refusal(chunk) if self.answer is None else self._take_answer(chunk, self.answer)):
                return
        self.is_whole = True

    def _take_refusal(self, chunk: bytes) -> bool:
        """Keep what says why; False when that is enough."""
        self._refusal_body += chunk[: _REFUSAL_BYTES - len(self._refusal_body)]
        return len(self._refusal_body) < _REFUSAL_BYTES

    def _take_answer(self, chunk: bytes, answer: AnswerCollector) -> bool:
        """Collect; False when no more is to be read."""
        if self.bytes_received > self._bounds.response_bytes:
            self._fail(FailureKind.TOO_LARGE, f"the answer passed {self._bounds.response_bytes} bytes")
            return False
        was_done = answer.is_done
        answer.feed(chunk)
        if self._stopwatch.has("first_token"):
            self._hang_up.on_first_token()
        if self._hang_up.is_due_after(answer.token_frames):
            self._fail(FailureKind.ABANDONED, "planned disconnect")
            return False
        if answer.is_done and not was_done:
            _delay(self._hang, _STRAGGLER_SECONDS)
        return True

    async def _decode_rest(self) -> None:
        try:
            if self.answer is None:
                if self.status is not None:
                    self._refusal = self._dialect.refusal(self.status, bytes(self._refusal_body))
            elif self.bytes_received > _THREAD_BYTES:
                await asyncio.to_thread(self.answer.finish)
            else:
                self.answer.finish()
        except Exception as error:  # noqa: BLE001 - a dialect never raises; if one does, that is our own fault
            self._fail(FailureKind.INTERNAL, type(error).__name__)

    # What the sockets say.

    def on_connect(self) -> None:
        """Date a new connection."""
        self._stopwatch.mark("connect_start")

    def on_written(self) -> None:
        """Count as progress."""
        self._progress()

    def on_read(self) -> None:
        """Count as progress; an answer has begun."""
        if self._ack is not None:
            self._ack.settle()
        self._progress()

    def _progress(self) -> None:
        if self._phase is not Phase.CONNECTING and not (self.answer is not None and self.answer.is_done):
            _delay(self._hang, self._bounds.hang_seconds)

    # What the HTTP layer says. A tunnel's CONNECT request passes here too, before ours.

    async def _trace(self, event: str, info: Mapping[str, object]) -> None:
        if event == "http11.send_request_headers.started":
            if getattr(info.get("request"), "method", b"") == b"POST":
                self._request_started()
        elif self._phase is Phase.SENDING and event.startswith("http11.send_request_"):
            self._request_written(event, info.get("exception"))
        elif self._phase is Phase.WAITING and event == "http11.receive_response_headers.complete":
            self._stopwatch.mark("headers")
            self._phase = Phase.READING
            self._hang_up.on_headers()

    def _request_started(self) -> None:
        self._stopwatch.mark("request_start")
        self._phase = Phase.SENDING
        self._hang_up.on_request_start()
        self._progress()

    def _request_written(self, event: str, error: object) -> None:
        if isinstance(error, httpcore.WriteError):
            # The peer may have answered before it hung up: httpcore reads on.
            self._phase = Phase.WAITING
        elif event == "http11.send_request_body.complete" and self.stream is not None:
            self._stopwatch.mark("body_sent")
            self._phase = Phase.WAITING
            self._watch_queue(self.stream)

    def _watch_queue(self, stream: SocketStream) -> None:
        self._ack = AckWatch(stream, self._body_acked)
        if not self._ack.is_watching:
            # Acknowledged already, or this kernel does not tell: handed over is then the best that is known.
            self._hang_up.on_body_received()

    def _body_acked(self) -> None:
        self._stopwatch.mark("body_acked")
        self._hang_up.on_body_received()

    # How it ended.

    def _fail(self, failure: FailureKind, detail: str) -> None:
        self.failure = failure
        self.failure_detail = detail

    def _fail_by(self, error: Exception) -> None:
        if isinstance(error, TimeoutError) and self._hang_up.timeout.expired():
            self._fail(FailureKind.ABANDONED, "planned disconnect")
        elif isinstance(error, TimeoutError) and (self._hang.expired() or self._deadline.expired()):
            self._fail_by_time()
        else:
            is_closed = self.is_closed_by_peer
            self._fail(*classify_failure(error, self._phase, is_proxied=self._is_proxied, is_closed=is_closed))

    def _fail_by_time(self) -> None:
        if self.answer is not None and self.answer.is_done:
            return
        bounds = self._bounds
        if self._deadline.expired():
            self._fail(FailureKind.HANG, f"the whole answer took longer than {bounds.deadline_seconds:g} s")
        elif self._phase is Phase.CONNECTING:
            kind = FailureKind.PROXY if self._is_proxied else FailureKind.CONNECT
            self._fail(kind, f"no connection within {bounds.connect_seconds:g} s")
        elif self._phase is Phase.SENDING:
            self._fail(FailureKind.WRITE, f"the peer took no byte of the request for {bounds.hang_seconds:g} s")
        elif self._phase is Phase.WAITING:
            self._fail(FailureKind.HANG, f"no answer began within {bounds.hang_seconds:g} s")
        else:
            self._fail(FailureKind.HANG, f"the answer stood still for {bounds.hang_seconds:g} s")


def _delay(timeout: asyncio.Timeout, seconds: float) -> None:
    if not timeout.expired():
        timeout.reschedule(asyncio.get_running_loop().time() + seconds)
