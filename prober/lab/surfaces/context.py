"""What all surfaces of one lab share."""

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Mapping
from typing import Protocol

from prober.lab.events import FrontEvent, GenerateRequest
from prober.lab.keys import ApiKeys
from prober.lab.records import Records
from prober.lab.settings import LabSettings
from prober.lab.surfaces.settings import SurfaceSettings


class Generator(Protocol):
    """What answers, as the surfaces see it."""

    def generate(self, request: GenerateRequest) -> AsyncGenerator[FrontEvent, None]:
        """Yield a head, then events up to a `Done`, a rejection or a `Severed`. Closing it is the client's abort."""
        ...

    async def restart(self) -> int:
        """Replace all server processes by new ones, as a rollout does; returns how many."""
        ...

    def facts(self) -> Mapping[str, object]:
        """Sizes and counters, for `/server_info` and `/metrics`."""
        ...


@dataclasses.dataclass(slots=True, kw_only=True)
class SurfaceContext:
    """One per lab server."""

    gateway: Generator
    lab: LabSettings
    keys: ApiKeys
    settings: SurfaceSettings
    records: Records
    closing: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)
    """Set when the lab shuts down: every exchange in flight then ends."""
    in_flight: int = 0
