"""SIGKILL at random moments of a run on SQLite: what was sent, what is in the file, what the next start makes of it."""

import asyncio
import pathlib
import signal
from collections.abc import Callable

import httpx

from benchmarks.figure import Figure
from prober.domain.canary import Canary
from prober.service.lab_host import lab_host
from reliability.moments import Moment, draw, gaps, kill_at
from reliability.place import Place, StageError, lab_order, require, target
from reliability.replica import Replica, replicas
from reliability.sizes import KillSizes
from reliability.toll import File, Toll
from reliability.wire import Wire, wire

TARGET = "healthy"
LEASE_SECONDS = 3
BEAT_SECONDS = LEASE_SECONDS / 3
BUSY_SECONDS = 5.0
"""What a busy machine may add to a stated time."""

ATTEMPTS = 5
"""At one moment, should the process have ended before it each time."""

LINE_SECONDS = 0.05
"""About what lies between two lines of the service's log while a run is under way."""

DONE_SECONDS = 60.0
RUN = ("run", "--log-format", "json", "--log-level", "debug")


async def kills(folder: pathlib.Path, sizes: KillSizes, seed: int) -> list[Figure]:
    """Kill and judge.

    Raises:
        StageError: it could not be set up, or did not come to its end.
    """
    async with (
        lab_host() as host,
        host.lab(lab_order(seed=seed)) as lab,
        wire(lab.url) as relay,
    ):
        commands = await _of_commands(Place.lay_out(folder / "run"), relay, sizes.runs, seed)
        services = await _of_services(Place.lay_out(folder / "serve"), relay, sizes.served, seed)
    late = Figure(
        name="  longest time that the next start was late to close one",
        value=services.longest_wait,
        unit="s",
        at_most=BEAT_SECONDS + BUSY_SECONDS,
        beside=f"after the lease of {LEASE_SECONDS} s, or its own start",
    )
    return [*commands.figures("prober run", sizes.runs), *services.figures("prober serve", sizes.served), late]


async def _received(place: Place, relay: Wire) -> set[Canary]:
    """What the lab got, once nothing is under way any more."""
    await relay.quiet()
    return relay.canaries(place.keyring)


# --- prober run -----------------------------------------------------------------------------------------------------


async def _of_commands(place: Place, relay: Wire, count: int, seed: int) -> Toll:
    file, toll = File(place.file), Toll()
    config = place.configure("prober", {TARGET: target(relay.url, "seed_and_probe")})
    require(await place.command(config, "db", "upgrade"), "prober db upgrade")
    undisturbed = await gaps(await place.spawn(config, *RUN))
    for moment in draw(count, len(undisturbed), seed):
        before = await _kill_command(place, config, moment, undisturbed, relay)
        left_open = toll.examine(file, before, await _received(place, relay))
        file.pass_silence()
        # The next start: closes what the killed one left open, and comes to a verdict of its own.
        following = await place.command(config, "run")
        if following.code:
            toll.failed_next.append(f"exit code {following.code}: {following.stderr.strip()[-200:]}")
        toll.examine_closed(file, left_open)
    return toll


async def _kill_command(
    place: Place, config: pathlib.Path, moment: Moment, undisturbed: tuple[float, ...], relay: Wire
) -> set[str]:
    """Start a run and kill it; gives the runs that were there before."""
    for _ in range(ATTEMPTS):
        relay.forget()
        before = File(place.file).runs()
        if await kill_at(await place.spawn(config, *RUN), moment, undisturbed):
            return before
    raise StageError(f"prober run had ended {ATTEMPTS} times before {moment}")


# --- prober serve ---------------------------------------------------------------------------------------------------


async def _of_services(place: Place, relay: Wire, count: int, seed: int) -> Toll:
    file, toll = File(place.file), Toll()
    config = place.configure(
        "prober",
        {TARGET: target(relay.url, "seed_and_probe")},
        api={"port": 0},
        service={"lease_seconds": LEASE_SECONDS, "poll_seconds": 0.1, "self_test": False},
    )
    require(await place.command(config, "db", "upgrade"), "prober db upgrade")
    made = await place.command(config, "token", "create", "--name", "harness", "--scope", "run")
    token = require(made, "prober token create").stdout.strip()
    async with replicas(place, [config]) as (service,):
        await service.start("debug")
        first = service.lines
        job_id = await _order(service, token)
        await _until(lambda: file.job(job_id)[0] == "done", "the undisturbed run did not end")
        lines = service.lines - first
        for moment in draw(count, lines, seed):
            await _kill_service(service, token, moment, place, relay, toll)
        if code := await service.end():
            toll.failed_next.append(f"exit code {code}")
    return toll


async def _kill_service(service: Replica, token: str, moment: Moment, place: Place, relay: Wire, toll: Toll) -> None:
    """Ask for a run, kill the replica, start it again, and see the run closed and its job done."""
    file, loop = File(place.file), asyncio.get_running_loop()
    relay.forget()
    before, first = file.runs(), service.lines
    job_id = await _order(service, token)
    await service.until_lines(first + moment.lines)
    await asyncio.sleep(moment.fraction * LINE_SECONDS)
    await service.end(signal.SIGKILL)
    killed_at = loop.time()
    left_open = toll.examine(file, before, await _received(place, relay))
    await service.start("debug")
    # No sooner than the lease is over, and no sooner than there is somebody.
    due = max(killed_at + LEASE_SECONDS, loop.time())
    await _until(lambda: not file.open_runs() & left_open, "the next start did not close the run")
    if left_open:
        toll.longest_wait = max(0.0, loop.time() - due, *([toll.longest_wait] if toll.longest_wait >= 0 else []))
    await _until(lambda: file.job(job_id)[0] == "done", "the job did not end")
    state, outcome = file.job(job_id)
    if outcome != "clean":
        toll.failed_next.append(f"{state} {outcome}")
    toll.examine_closed(file, left_open)


async def _order(service: Replica, token: str) -> str:
    """Ask for a run; gives its job's id."""
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as client:
        answer = await client.post(f"{service.address}/api/v1/runs", json={"target": TARGET})
    if answer.status_code != httpx.codes.ACCEPTED:
        raise StageError(f"a run was refused with {answer.status_code}")
    return str(answer.json()["id"])


async def _until(is_so: Callable[[], bool], complaint: str) -> None:
    try:
        async with asyncio.timeout(DONE_SECONDS):
            while not is_so():  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise StageError(f"{complaint} within {DONE_SECONDS:.0f} s") from None
