"""How much each part does."""

import dataclasses
from collections.abc import Mapping

from reliability.chaos import Kind


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FleetSizes:
    """Three replicas on one PostgreSQL."""

    targets: int
    """Of each lab, the faulty and the healthy one; each has a schedule."""
    slots: int
    """Due in all, at least."""
    every_seconds: int
    """Between two slots of one target."""
    orders: int
    """Runs asked for over the API."""
    disturbances: Mapping[Kind, int]
    must_interrupt: bool = True
    """So many disturbances that some kill meets a run; a trial where none does has shown nothing."""
    replicas: int = 3
    concurrency: int = 3
    lease_seconds: int = 15

    @property
    def seconds(self) -> int:
        """How long it takes until all slots were due."""
        return self.every_seconds * -(-self.slots // (2 * self.targets))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KillSizes:
    """Kills of a run on SQLite."""

    runs: int
    """Of `prober run`."""
    served: int
    """Of `prober serve` with a run under way."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SoakSizes:
    """One replica on SQLite, for long."""

    runs: int
    targets: int
    every_seconds: int
    most_seconds: float
    """When to give up."""
    max_mebibytes: int
    """The database's cap."""
    prune_seconds: float
    """Between two prunings: six hours, compressed."""
    sample_seconds: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Of all parts."""

    fleet: FleetSizes
    kills: KillSizes
    soak: SoakSizes


FULL = Sizes(
    fleet=FleetSizes(
        targets=25,
        slots=500,
        every_seconds=50,
        orders=200,
        disturbances={
            Kind.KILL: 10,
            Kind.KILL_ALL: 1,
            Kind.STOP: 7,
            Kind.RESTART: 2,
            Kind.CRASH: 2,
            Kind.CUT: 8,
        },
    ),
    kills=KillSizes(runs=50, served=10),
    soak=SoakSizes(
        runs=5_000,
        targets=8,
        every_seconds=2,
        most_seconds=7_200,
        max_mebibytes=32,
        prune_seconds=60,
        sample_seconds=2,
    ),
)
QUICK = Sizes(
    fleet=FleetSizes(
        targets=2,
        slots=8,
        every_seconds=10,
        orders=4,
        disturbances={Kind.KILL: 1, Kind.CUT: 1, Kind.CRASH: 1},
        lease_seconds=4,
        must_interrupt=False,
    ),
    kills=KillSizes(runs=2, served=1),
    soak=SoakSizes(
        runs=12,
        targets=4,
        every_seconds=2,
        most_seconds=60,
        max_mebibytes=16,
        prune_seconds=4,
        sample_seconds=0.5,
    ),
)
