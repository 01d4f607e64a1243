"""What is done to replicas and database while they work, drawn from a seed."""

import asyncio
import dataclasses
import datetime as dt
import enum
import random
import signal
from collections.abc import Mapping, Sequence

from reliability.postgres import PostgresServer
from reliability.replica import Replica


class Kind(enum.Enum):
    """A disturbance; its value says what happened in the figures' words."""

    KILL = "killed"
    """One replica by SIGKILL, started again a little later."""
    KILL_ALL = "all killed"
    """Every replica at once."""
    STOP = "stopped"
    """One replica by SIGSTOP for longer than its leases, then continued."""
    RESTART = "database restarted"
    CRASH = "database crashed"
    """It ends at once, and recovers at its start."""
    CUT = "connections cut"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One disturbance as planned."""

    kind: Kind
    pause: float
    """Seconds of peace before it."""
    victim: int
    """Number of a replica, where it is one's."""
    length: float
    """Seconds that it lasts."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """One that was done; dates by the machine's clock, which PostgreSQL shares."""

    kind: Kind
    began: dt.datetime
    ended: dt.datetime
    could_interrupt: int
    """Runs that could be under way on what it hit."""


def plan(
    counts: Mapping[Kind, int], *, seconds: float, replicas: int, lease_seconds: float, seed: int
) -> tuple[Step, ...]:
    """Draw order, victims and times of so many disturbances, spread over so many seconds."""
    dice = random.Random(seed)
    kinds = [kind for kind, count in counts.items() for _ in range(count)]
    dice.shuffle(kinds)
    lengths = [_length(kind, lease_seconds, dice) for kind in kinds]
    shares = [dice.uniform(0.5, 1.5) for _ in kinds]
    peace = max(0.0, seconds - sum(lengths)) / sum(shares)
    return tuple(
        Step(kind=kind, pause=share * peace, victim=dice.randrange(replicas), length=length)
        for kind, share, length in zip(kinds, shares, lengths, strict=True)
    )


def _length(kind: Kind, lease_seconds: float, dice: random.Random) -> float:
    match kind:
        case Kind.KILL | Kind.KILL_ALL:
            return dice.uniform(0.5, 4.0)
        case Kind.STOP:
            # Beyond the lease and the beat after it, by which another replica takes over.
            return lease_seconds * 4 / 3 + dice.uniform(1.0, 4.0)
        case Kind.RESTART | Kind.CRASH:
            return dice.uniform(0.0, 3.0)
        case Kind.CUT:
            return 0.0


class Chaos:
    """Disturbs, and writes down when it did what."""

    def __init__(self, replicas: Sequence[Replica], server: PostgresServer, concurrency: int, seed: int) -> None:
        self._replicas = replicas
        self._server = server
        self._concurrency = concurrency
        self._dice = random.Random(seed)
        self.done: list[Disturbance] = []

    async def go_through(self, steps: Sequence[Step]) -> None:
        """Do them one after the other; all replicas and the database are back in the end.

        Raises:
            StageError: something did not come back.
        """
        for step in steps:
            await asyncio.sleep(step.pause)
            began = dt.datetime.now(dt.UTC)
            await self._do(step)
            is_ones = step.kind in {Kind.KILL, Kind.STOP}
            self.done.append(
                Disturbance(
                    kind=step.kind,
                    began=began,
                    ended=dt.datetime.now(dt.UTC),
                    could_interrupt=self._concurrency * (1 if is_ones else len(self._replicas)),
                )
            )

    async def _do(self, step: Step) -> None:
        victim = self._replicas[step.victim]
        match step.kind:
            case Kind.KILL:
                await self._kill([victim], step.length)
            case Kind.KILL_ALL:
                await self._kill(self._replicas, step.length)
            case Kind.STOP:
                victim.send(signal.SIGSTOP)
                try:
                    await asyncio.sleep(step.length)
                finally:
                    victim.send(signal.SIGCONT)
            case Kind.RESTART | Kind.CRASH:
                await self._server.stop(signal.SIGINT if step.kind is Kind.RESTART else signal.SIGQUIT)
                await asyncio.sleep(step.length)
                await self._server.start()
            case Kind.CUT:
                await self._server.cut(self._dice)

    async def _kill(self, victims: Sequence[Replica], seconds: float) -> None:
        for each in victims:
            each.send(signal.SIGKILL)
        for each in victims:
            await each.end(signal.SIGKILL)
        await asyncio.sleep(seconds)
        async with asyncio.TaskGroup() as group:
            for each in victims:
                group.create_task(each.start())
