"""Runs that are asked for over the HTTP API, of whichever replica answers."""

import asyncio
import contextlib
import dataclasses
import random
from collections.abc import Sequence

import httpx

from reliability.place import StageError
from reliability.replica import Replica

ANSWER_SECONDS = 5.0
GIVE_UP_SECONDS = 180.0
RETRY_SECONDS = 0.5


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """One run that is asked for."""

    key: str
    """Idempotency key."""
    target: str
    at: float
    """Seconds after the beginning."""


@dataclasses.dataclass(frozen=True, slots=True)
class Accepted:
    """An order that was answered with 202."""

    order: Order
    job_id: str
    attempts: int


def draw(targets: Sequence[str], count: int, seconds: float, seed: int) -> tuple[Order, ...]:
    """So many orders for each of the targets in turn, at times of the seed's choice."""
    dice = random.Random(seed)
    times = sorted(dice.uniform(0, seconds) for _ in range(count))
    return tuple(
        Order(key=f"order-{number}", target=targets[number % len(targets)], at=at) for number, at in enumerate(times)
    )


async def send_all(orders: Sequence[Order], replicas: Sequence[Replica], token: str, seed: int) -> list[Accepted]:
    """Send each in its time, again with the same key until a replica accepts it.

    Raises:
        StageError: none did in time, or an order was refused for good.
    """
    dice = random.Random(seed)
    began = asyncio.get_running_loop().time()
    async with (
        httpx.AsyncClient(timeout=ANSWER_SECONDS, headers={"Authorization": f"Bearer {token}"}) as client,
        asyncio.TaskGroup() as group,
    ):
        tasks = []
        for order in orders:
            await asyncio.sleep(max(0.0, began + order.at - asyncio.get_running_loop().time()))
            tasks.append(group.create_task(_insist(client, order, replicas, random.Random(dice.random()))))
    return [task.result() for task in tasks]


async def _insist(
    client: httpx.AsyncClient, order: Order, replicas: Sequence[Replica], dice: random.Random
) -> Accepted:
    attempts = 0
    try:
        async with asyncio.timeout(GIVE_UP_SECONDS):
            while True:
                attempts += 1
                # A replica that was killed, or sleeps, does not answer; the next one knows the key.
                with contextlib.suppress(httpx.TransportError):
                    job_id = await _ask(client, order, dice.choice(replicas))
                    if job_id is not None:
                        return Accepted(order, job_id, attempts)
                await asyncio.sleep(RETRY_SECONDS)
    except TimeoutError:
        raise StageError(f"{order.key} was not accepted within {GIVE_UP_SECONDS:.0f} s") from None


async def _ask(client: httpx.AsyncClient, order: Order, replica: Replica) -> str | None:
    """Ask once; None where the replica cannot take it now."""
    answer = await client.post(
        f"{replica.address}/api/v1/runs", json={"target": order.target}, headers={"Idempotency-Key": order.key}
    )
    if answer.status_code == httpx.codes.ACCEPTED:
        return str(answer.json()["id"])
    if answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR and answer.status_code != httpx.codes.TOO_MANY_REQUESTS:
        raise StageError(f"{order.key} was refused with {answer.status_code}: {answer.text[:300]}")
    return None
