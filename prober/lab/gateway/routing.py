"""Who serves a request: model groups, homes of sessions, load."""

import collections
import dataclasses
import itertools
import zlib
from collections.abc import Iterator, Mapping, Sequence

from prober.lab.events import GenerateRequest
from prober.lab.gateway.backend import Backend
from prober.lab.gateway_settings import GatewaySettings
from prober.lab.seams import Seams

_MOST_HOMES = 10_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One attempt."""

    backend: Backend
    attempts: int
    """This one included."""
    fallbacks: int = 0
    """Model groups that were tried before in vain."""


class RoutingTable:
    """Chooses backends: a session stays where it was first, everything else goes where least is in flight.

    Among equally busy ones a tenant has a favourite, which is likelier to have its prompts in the prefix cache.
    """

    def __init__(self, groups: Mapping[str, Sequence[Backend]], settings: GatewaySettings, seams: Seams) -> None:
        self._groups = groups
        """Model group -> its backends; the first one is the gateway's own, and serves names that nobody knows."""
        self._settings = settings
        self._seams = seams
        self._homes: collections.OrderedDict[tuple[str, str], Backend] = collections.OrderedDict()
        self._sessions: collections.Counter[str] = collections.Counter()
        self._turns = itertools.count()

    @property
    def backends(self) -> tuple[Backend, ...]:
        """All of all groups."""
        return tuple(itertools.chain.from_iterable(self._groups.values()))

    def hops(self, number: int, request: GenerateRequest) -> Iterator[Hop]:
        """Attempts in order: the chosen backend, others of its group, then the next groups where that is allowed."""
        group = request.model if request.model in self._groups else next(iter(self._groups))
        order = self._ordered(self._groups[group], request)
        chosen = self._chosen(number, group, request)
        order = [chosen, *(backend for backend in order if backend is not chosen)]
        attempts = 1 + self._settings.retries
        for index in range(attempts):
            yield Hop(backend=order[index % len(order)], attempts=index + 1)
        others = [members for name, members in self._groups.items() if name != group]
        for fallbacks, members in enumerate(others if self._settings.falls_back else [], start=1):
            backend = self._ordered(members, request)[0]
            yield Hop(backend=backend, attempts=attempts + fallbacks, fallbacks=fallbacks)

    def _chosen(self, number: int, group: str, request: GenerateRequest) -> Backend:
        if request.session:
            return self._home(number, group, request.session)
        if others := self._others(number, group):
            mixed = [*self._groups[group], *others]
            turn = next(self._turns)
            return min(mixed, key=lambda backend: (backend.in_flight, (mixed.index(backend) - turn) % len(mixed)))
        return self._ordered(self._groups[group], request)[0]

    def _home(self, number: int, group: str, session: str) -> Backend:
        home = self._homes.get((group, session))
        if home is None:
            candidates = [*self._groups[group], *self._others(number, group, session)]
            home = min(candidates, key=lambda backend: self._sessions[backend.name])
            self._sessions[home.name] += 1
            self._homes[group, session] = home
        self._homes.move_to_end((group, session))
        if len(self._homes) > _MOST_HOMES:
            _forgotten, left = self._homes.popitem(last=False)
            self._sessions[left.name] -= 1
        return home

    def _others(self, number: int, group: str, session: str = "") -> list[Backend]:
        """Backends of other groups that are taken for members of this one."""
        others = [backend for name, members in self._groups.items() if name != group for backend in members]
        if not others:
            return []
        is_open = bool(session) and self._seams.leaves_group(session)
        return others if is_open or self._seams.matches_raw_names(number) else []

    def _ordered(self, members: Sequence[Backend], request: GenerateRequest) -> list[Backend]:
        favourite = zlib.crc32(request.tenant.encode())
        return sorted(
            members, key=lambda backend: (backend.in_flight, (members.index(backend) - favourite) % len(members))
        )
