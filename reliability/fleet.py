"""Three replicas on one PostgreSQL while replicas are killed and stopped and the database comes and goes."""

import asyncio
import collections
import contextlib
import datetime as dt
import pathlib
import signal
from collections.abc import AsyncIterator, Iterable, Sequence

import asyncpg

from benchmarks.figure import Figure
from prober.service.lab_host import lab_host
from reliability import judging
from reliability.chaos import Chaos, plan
from reliability.judging import FAULTY, HEALTHY, Evidence
from reliability.ledger_facts import Cursors, LedgerFacts, ledger_facts
from reliability.orders import Accepted, draw, send_all
from reliability.place import Document, Place, StageError, lab_order, require, target
from reliability.postgres import postgres
from reliability.replica import Replica, replicas
from reliability.sizes import FleetSizes

FAULT = "stub_handoff"
SETTLE_SECONDS = 300.0
"""For all that still waits when the last slot was due."""

BUSY_SECONDS = 5.0
"""What a machine that runs all of it on two cores may add to a stated time."""

_GONE = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError)

Targets = dict[str, Document]


async def fleet(folder: pathlib.Path, sizes: FleetSizes, seed: int) -> list[Figure]:
    """Run it and judge it.

    Raises:
        StageError: it could not be set up, or did not come to its end.
    """
    async with postgres() as server, _labs(sizes.targets) as targets:
        place = Place.lay_out(folder, server.url)
        configs = [_configure(place, f"replica-{number}", targets, sizes) for number in range(sizes.replicas)]
        require(await place.command(configs[0], "db", "upgrade"), "prober db upgrade")
        made = await place.command(configs[0], "token", "create", "--name", "harness", "--scope", "run")
        token = require(made, "prober token create").stdout.strip()
        async with replicas(place, configs) as fleet:
            began = await _begin(fleet, server.url, sizes)
            chaos = Chaos(fleet, server, sizes.concurrency, seed)
            steps = plan(
                sizes.disturbances,
                seconds=sizes.seconds,
                replicas=sizes.replicas,
                lease_seconds=sizes.lease_seconds,
                seed=seed,
            )
            orders = draw(list(targets), sizes.orders, sizes.seconds, seed)
            async with asyncio.TaskGroup() as group:
                accepted = group.create_task(send_all(orders, fleet, token, seed))
                group.create_task(chaos.go_through(steps))
                group.create_task(_until_due(server.url, sizes))
            failed = await _end(fleet, place, targets, server.url, sizes)
        async with ledger_facts(server.url) as facts:
            evidence = await _evidence(facts, began, accepted.result(), chaos, sizes)
        faults = sum((each.faults for each in fleet), collections.Counter[str]())
    return list(_figures(evidence, sizes, failed, faults))


@contextlib.asynccontextmanager
async def _labs(count: int) -> AsyncIterator[Targets]:
    """Serve a lab for each target, so that what a run sees is its own; the faulty ones in a process of theirs."""
    async with contextlib.AsyncExitStack() as stack:
        found: Targets = {}
        for kind, faults in ((FAULTY, {FAULT: 1.0}), (HEALTHY, {})):
            host = await stack.enter_async_context(lab_host())
            for number in range(count):
                lab = await stack.enter_async_context(host.lab(lab_order(faults=faults, seed=number)))
                found[f"{kind}-{number:02}"] = target(lab.url, "seed_and_probe")
        yield found


def _configure(
    place: Place, name: str, targets: Targets, sizes: FleetSizes, *, is_scheduled: bool = True
) -> pathlib.Path:
    """Write one replica's configuration."""
    schedules = {
        kind: {
            "every_seconds": sizes.every_seconds,
            "stagger_seconds": (sizes.every_seconds - 1) // sizes.targets,
            "targets": [each for each in targets if each.startswith(kind)],
        }
        for kind in (FAULTY, HEALTHY)
    }
    return place.configure(
        name,
        targets,
        schedules=schedules if is_scheduled else {},
        api={"port": 0, "requests_per_minute": 6_000},
        service={
            "replica": name,
            "concurrency": sizes.concurrency,
            "lease_seconds": sizes.lease_seconds,
            "poll_seconds": 1,
            "drain_seconds": 30,
            # Its labs would keep two cores busy by themselves.
            "self_test": False,
        },
    )


async def _begin(fleet: Sequence[Replica], url: str, sizes: FleetSizes) -> Cursors:
    """Start all; tell where the schedules stand before the first slot."""
    async with asyncio.TaskGroup() as group:
        for each in fleet:
            group.create_task(each.start())
    async with ledger_facts(url) as facts, _within(60, "the schedules did not begin"):
        while len(cursors := await facts.cursors()) < 2 * sizes.targets:  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.2)
        return cursors


async def _until_due(url: str, sizes: FleetSizes) -> None:
    """Wait until so many slots were dealt with, whatever happens to the database meanwhile."""
    async with _within(3 * sizes.seconds + SETTLE_SECONDS, "the slots were not dealt with"):
        while True:
            with contextlib.suppress(*_GONE):
                async with ledger_facts(url) as facts:
                    if await facts.slots() >= sizes.slots:
                        return
            await asyncio.sleep(1)


async def _end(fleet: Sequence[Replica], place: Place, targets: Targets, url: str, sizes: FleetSizes) -> list[str]:
    """Take the schedules away by a reload, let the queue run empty, end the replicas; gives the failed ones' words."""
    for each in fleet:
        before = each.events["reloaded"]
        _configure(place, each.config.stem, targets, sizes, is_scheduled=False)
        each.send(signal.SIGHUP)
        await each.until("reloaded", before + 1)
    async with ledger_facts(url) as facts, _within(SETTLE_SECONDS, "the queue did not run empty"):
        while await facts.open_jobs():  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.5)
    codes = [await each.end() for each in fleet]
    return [f"exit code {code}: {each.last_words[-500:]}" for code, each in zip(codes, fleet, strict=True) if code]


async def _evidence(
    facts: LedgerFacts, began: Cursors, accepted: Sequence[Accepted], chaos: Chaos, sizes: FleetSizes
) -> Evidence:
    return Evidence(
        began=began,
        ended=await facts.cursors(),
        every=dt.timedelta(seconds=sizes.every_seconds),
        accepted=accepted,
        done=chaos.done,
        jobs=await facts.jobs(),
        runs=await facts.runs(),
    )


def _figures(
    evidence: Evidence, sizes: FleetSizes, failed: Sequence[str], faults: collections.Counter[str]
) -> Iterable[Figure]:
    jobs, runs = evidence.jobs, evidence.runs
    slots = [job for job in jobs if job.slot is not None]
    missed = collections.Counter(job.note for job in slots if job.state == "missed")
    faulty = [run for run in runs if run.target.startswith(FAULTY)]
    kinds, unexplained = judging.explained(evidence)
    disturbances = collections.Counter(each.kind for each in evidence.done)
    yield Figure(
        name="slots that fell due",
        value=len(judging.slots_due(evidence)),
        unit="slots",
        at_least=sizes.slots,
        beside=f"run: {len(slots) - missed.total()}; missed: {_counts(missed) or 'none'}",
    )
    yield _none("slots lost, or invented", judging.lost_or_invented_slots(evidence))
    yield Figure(
        name="runs asked for over the API",
        value=len(evidence.accepted),
        unit="runs",
        at_least=sizes.orders,
        beside=f"with {sum(each.attempts for each in evidence.accepted)} requests",
    )
    yield _none("of these lost, or doubled", judging.lost_orders(evidence))
    yield _none("slots and runs that came to two verdicts", judging.doubled_jobs(evidence))
    yield _none("slots and runs without a verdict or a reason", judging.without_verdict(evidence))
    yield _none("attempts left open", judging.open_runs(evidence))
    yield Figure(
        name="disturbances",
        value=len(evidence.done),
        unit="times",
        beside=_counts({k.value: n for k, n in disturbances.items()}),
    )
    yield Figure(
        name="attempts that ended as INCONCLUSIVE, or were interrupted",
        value=len(judging.interrupted(evidence)),
        unit="attempts",
        at_most=sum(each.could_interrupt for each in evidence.done),
        beside=f"of {len(runs)}; in flight at: {_counts({k.value: n for k, n in kinds.items()}) or 'nothing'}; "
        f"given up after three: {sum(map(judging.is_given_up, jobs))}",
    )
    yield _none("of these in flight at no disturbance", unexplained)
    yield Figure(
        name="attempts against a faulty lab",
        value=len(faulty),
        unit="attempts",
        beside=f"VIOLATION: {sum(run.outcome == 'violation' for run in faulty)}; against a healthy one: "
        f"{len(runs) - len(faulty)}, CLEAN: {sum(run.outcome == 'clean' for run in runs)}",
    )
    yield _none("wrong verdicts, or right ones for a wrong reason", judging.wrong_verdicts(evidence))
    yield _none("attempts written to after they were closed", judging.late_writes(evidence))
    yield _none("slots and runs whose attempts broke the fence", judging.broken_fences(evidence))
    yield _none("targets probed by two runs at once", judging.double_probing(evidence))
    yield Figure(
        name="longest take-over from a killed replica",
        value=judging.longest_take_over(evidence),
        unit="s",
        at_most=sizes.lease_seconds * 4 / 3 + BUSY_SECONDS if sizes.must_interrupt else None,
        beside=f"lease of {sizes.lease_seconds} s and a beat",
    )
    yield _none("exit codes of the replicas other than 0", failed)
    yield Figure(
        name="internal errors that replicas logged", value=faults.total(), unit="", at_most=0, beside=_counts(faults)
    )


def _none(name: str, found: Sequence[str]) -> Figure:
    """Something of which there must be none; the first ones are shown."""
    return Figure(name=name, value=len(found), unit="", at_most=0, beside="; ".join(found[:3]))


def _counts(counts: collections.Counter[str] | dict[str, int]) -> str:
    return ", ".join(f"{key} {count}" for key, count in sorted(counts.items()))


@contextlib.asynccontextmanager
async def _within(seconds: float, complaint: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise StageError(f"{complaint} within {seconds:.0f} s") from None
