"""The gateway: what clients' requests meet first, and what stands between them and the clusters."""

import asyncio
import collections
import dataclasses
import itertools
from collections.abc import AsyncGenerator, Mapping

from prober.domain.errors import LabError
from prober.lab.crew import Crew
from prober.lab.dice import Dice
from prober.lab.events import Done, FrontEvent, GenerateRequest, Rejection, Severed
from prober.lab.faults import seams_of
from prober.lab.gateway.backend import Backend, Build, build_cluster
from prober.lab.gateway.delivery import Delivery
from prober.lab.gateway.mailboxes import FanOut, Mailbox, Mailboxes
from prober.lab.gateway.rate_limit import RateLimit
from prober.lab.gateway.response_cache import ResponseCache
from prober.lab.gateway.routing import RoutingTable
from prober.lab.gateway.window import Window
from prober.lab.settings import LabSettings

COUNTERS = (
    "requests",
    "cache_hits",
    "cache_misses",
    "connections_opened",
    "connections_discarded",
    "mailboxes_overwritten",
    "results_dropped",
    "rate_limit_bursts",
    "rate_limited",
    "upstream_losses",
    "retries",
    "fallbacks",
    "restarts",
)
"""The gateway's own counters, at 0 from the start."""


class Gateway:
    """All clusters of one lab behind one door. It belongs to one event loop: start, generate, stop."""

    def __init__(self, settings: LabSettings, build: Build = build_cluster) -> None:
        self.counters = collections.Counter(dict.fromkeys(COUNTERS, 0))
        self._strikes: collections.Counter[str] = collections.Counter()
        seams = seams_of(settings.faults, settings.fixes, Dice(settings.faults, settings.seed, self._strikes))
        gateway = settings.gateway
        self._crew = Crew()
        self._numbers = itertools.count(1)
        self._cache = ResponseCache(gateway.cached_responses, seams, self.counters)
        self._rate_limit = RateLimit(
            gateway, seed=settings.seed, time_scale=settings.time_scale, counters=self.counters
        )
        self._mailboxes = Mailboxes(self.counters)
        self._seams = seams
        groups = {
            group: [Backend(name, member, build, self._crew, self.counters) for name, member in members]
            for group, members in _members(settings).items()
        }
        self._table = RoutingTable(groups, gateway, seams)
        self._rollout = asyncio.Lock()
        self._delivery = Delivery(
            settings=gateway,
            seams=seams,
            table=self._table,
            window=Window(settings, seams),
            mailboxes=self._mailboxes,
            fan_out=FanOut(seams, gateway.tick_seconds * settings.time_scale),
            counters=self.counters,
        )

    @property
    def backends(self) -> tuple[Backend, ...]:
        """All of all model groups, the gateway's own group first."""
        return self._table.backends

    async def start(self) -> None:
        """Start all clusters; those that were started end again when one cannot."""
        started: list[Backend] = []
        try:
            for backend in self.backends:
                await backend.start()
                started.append(backend)
        except BaseException:
            for backend in started:
                await backend.stop()
            raise

    async def stop(self) -> None:
        """End all work and all clusters."""
        await self._crew.stop()
        for backend in self.backends:
            await backend.stop()

    async def restart(self) -> int:
        """Restart the clusters, one after the other; answers in flight on one break off. Returns how many."""
        async with self._rollout:
            for backend in self.backends:
                await backend.restart()
                self.counters["restarts"] += 1
        return len(self.backends)

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[FrontEvent, None]:
        """Stream one answer: a head, chunks, then a `Done`, a rejection or a `Severed`. Closing it is a hang-up.

        Raises:
            LabError: the lab was stopped meanwhile, or a connection was lost amid the answer.
        """
        number = next(self._numbers)
        self.counters["requests"] += 1
        cache_key = self._cache.key(request)
        if stored := self._rate_limit.refusal(number, request) or self._cache.find(number, cache_key, request):
            for event in stored:
                yield event
            return
        key = self._seams.mailbox_key(number, request.client_id)
        mailbox = self._mailboxes.open(key)
        errand = self._crew.start(self._delivery.run(number, key, request))
        errand.add_done_callback(lambda ended: _report(ended, mailbox))
        sent: list[FrontEvent] = []
        try:
            while not (sent and isinstance(sent[-1], Done | Rejection | Severed)):
                sent.append(await mailbox.take())
                if isinstance(sent[-1], Done):
                    self._cache.store(cache_key, request, tuple(sent))
                yield sent[-1]
        finally:
            self._mailboxes.close(key, mailbox)
            errand.cancel()
            await asyncio.wait([errand])

    def facts(self) -> dict[str, object]:
        """Facts of the first cluster, all clusters' counters added up, and the gateway's own counters."""
        facts = [backend.facts() for backend in self.backends]
        counters: collections.Counter[str] = collections.Counter()
        for each in facts:
            counts = each.get("counters")
            counters.update(dict(counts) if isinstance(counts, Mapping) else {})
        counters.update(self._strikes)
        return {**facts[0], "counters": dict(counters), "gateway": dict(self.counters)}


def _members(settings: LabSettings) -> dict[str, list[tuple[str, LabSettings]]]:
    """Name and settings of each backend, by model group; no two draw alike."""
    like = [settings] * settings.backends
    groups = {settings.model: like} | {group.model: [group] for group in settings.other_groups}
    seeds = itertools.count(settings.seed)
    return {
        model: [
            (
                f"{model}/{index}",
                dataclasses.replace(
                    member,
                    faults=settings.faults,
                    fixes=settings.fixes,
                    time_scale=settings.time_scale,
                    gateway=settings.gateway,
                    seed=next(seeds),
                ),
            )
            for index, member in enumerate(members)
        ]
        for model, members in groups.items()
    }


def _report(ended: asyncio.Task[None], mailbox: Mailbox) -> None:
    """Whoever waits for a result must not wait for an errand that came to nothing."""
    if ended.cancelled():
        mailbox.put(LabError("the lab was stopped"))
    elif error := ended.exception():
        mailbox.put(error)
