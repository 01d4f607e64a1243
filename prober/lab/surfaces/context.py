"""What all surfaces of one lab share."""

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Mapping
from typing import Protocol

from prober.lab.events import Event, GenerateRequest
from prober.lab.keys import ApiKeys
from prober.lab.records import Records
from prober.lab.settings import LabSettings
from prober.lab.surfaces.settings import SurfaceSettings


class Generator(Protocol):
    """The cluster, as the surfaces see it."""

    def generate(self, request: GenerateRequest) -> AsyncGenerator[Event, None]:
        """Yield the request's events, ending with a rejection or a `Done`. Closing it is the client's abort."""
        ...

    def facts(self) -> Mapping[str, object]:
        """Sizes and counters, for `/server_info` and `/metrics`."""
        ...


@dataclasses.dataclass(slots=True, kw_only=True)
class SurfaceContext:
    """One per lab server."""

    cluster: Generator
    lab: LabSettings
    keys: ApiKeys
    settings: SurfaceSettings
    records: Records
    closing: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)
    """Set when the lab shuts down: every exchange in flight then ends."""
    in_flight: int = 0
