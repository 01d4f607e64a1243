"""The way of one request upstream, and of its reply into a mailbox."""

import asyncio
import collections
import contextlib
import dataclasses
import hashlib
from collections.abc import Hashable

from prober.domain.errors import LabError
from prober.lab.events import FrontEvent, GenerateRequest, Head, Rejection, Service, Severed, Stage
from prober.lab.gateway.connection import Connection, ConnectionLostError
from prober.lab.gateway.mailboxes import FanOut, Mailboxes
from prober.lab.gateway.routing import Hop, RoutingTable
from prober.lab.gateway.window import Passage, Window
from prober.lab.gateway_settings import GatewaySettings
from prober.lab.seams import Seams

GATEWAY_TENANT = "gateway"
"""Whom backends see when all requests reach them under one credential."""
FALLBACK_HEADER = "x-litellm-attempted-fallbacks"
FIRST_SERVER_ERROR = 500
BAD_GATEWAY = 502


@dataclasses.dataclass(slots=True, kw_only=True)
class Errand:
    """One request on its way."""

    number: int
    """The gateway's own count."""
    key: Hashable
    """Of its mailbox."""
    passage: Passage
    has_begun: bool = False
    """Something of an answer was posted: from here on no other backend can take over."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Sends requests upstream and posts what comes back."""

    settings: GatewaySettings
    seams: Seams
    table: RoutingTable
    window: Window
    mailboxes: Mailboxes
    fan_out: FanOut
    counters: collections.Counter[str]

    async def run(self, number: int, key: Hashable, request: GenerateRequest) -> None:
        """Ask one backend after the other until one begins to answer; post its reply to `key`.

        A client whose request no backend took is answered 502.

        Raises:
            LabError: a connection was lost amid an answer, or a backend crashed.
        """
        passage = await self.window.pass_through(number, self._with_credential(request))
        errand = Errand(number=number, key=key, passage=passage)
        hops = tuple(self.table.hops(number, request))
        for hop, following in zip(hops, (*hops[1:], None), strict=True):
            try:
                if await self._attempt(errand, hop, following):
                    return
            except ConnectionLostError as error:
                if errand.has_begun or not isinstance(error.__cause__, LabError | None):
                    raise
            if following:
                self.counters["fallbacks" if following.fallbacks else "retries"] += 1
        self.mailboxes.post(key, _opening(request, hops[-1]))
        self.mailboxes.post(key, _bad_gateway())

    def _with_credential(self, request: GenerateRequest) -> GenerateRequest:
        salt, tenant = request.cache_salt, request.tenant
        if self.settings.salts_tenants:
            salt = hashlib.sha256(f"{len(tenant)} {tenant} {salt}".encode()).hexdigest()
        if self.settings.pooled_credential:
            tenant = GATEWAY_TENANT
        return dataclasses.replace(request, tenant=tenant, cache_salt=salt)

    async def _attempt(self, errand: Errand, hop: Hop, following: Hop | None) -> bool:
        """Ask one backend; False: the next one is to be asked."""
        backend = hop.backend
        connections, connection = backend.connections, await backend.connect()
        backend.in_flight += 1
        try:
            connection.write(errand.passage.request)
            is_answered = await self._read(errand, hop, following, connection)
        except asyncio.CancelledError:
            if self.seams.puts_back_unread(errand.number):
                connections.give_back(connection)
            else:
                await connections.discard(connection)
            raise
        except ConnectionLostError:
            await connections.discard(connection)
            raise
        finally:
            backend.in_flight -= 1
        connections.give_back(connection)
        return is_answered

    async def _read(self, errand: Errand, hop: Hop, following: Hop | None, connection: Connection) -> bool:
        head = await connection.head()
        async with contextlib.aclosing(connection.rest()) as rest:
            first = await anext(rest)
            if following and self.settings.falls_back and _is_failure(first):
                return False
            key = await self.fan_out.destination(errand.number, errand.key)
            self._post(errand, key, _signed(head, errand, hop), first)
            async for event in rest:
                self._post(errand, key, event)
        return True

    def _post(self, errand: Errand, key: Hashable, *events: FrontEvent) -> None:
        is_error = isinstance(events[-1], Rejection)
        if is_error and not self.seams.answers_refusal(errand.number):
            return
        errand.has_begun = True
        for event in events:
            is_silenced = isinstance(event, Rejection) and not self.seams.passes_error_on(errand.number)
            self.mailboxes.post(key, Severed() if is_silenced else errand.passage.told(event))


def _signed(head: Head, errand: Errand, hop: Hop) -> Head:
    """The reply's head with what the gateway has to say."""
    service = dataclasses.replace(head.service, attempts=hop.attempts, tokens_dropped=errand.passage.tokens_dropped)
    if not hop.fallbacks:
        return dataclasses.replace(head, service=service)
    headers = {**head.headers, FALLBACK_HEADER: str(hop.fallbacks)}
    return dataclasses.replace(head, service=service, model=hop.backend.settings.model, headers=headers)


def _is_failure(event: FrontEvent) -> bool:
    return isinstance(event, Rejection) and event.status >= FIRST_SERVER_ERROR


def _opening(request: GenerateRequest, hop: Hop) -> Head:
    service = Service(answer_of=request.request_id, backend="", attempts=hop.attempts)
    return Head(answer_id=request.request_id, service=service)


def _bad_gateway() -> Rejection:
    message = "The connection to the inference server was lost."
    return Rejection(status=BAD_GATEWAY, message=message, error_type="BadGateway", stage=Stage.ROUTER)
