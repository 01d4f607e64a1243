"""One replica on SQLite for thousands of runs: memory, descriptors and database stay where they are."""

import asyncio
import contextlib
import dataclasses
import pathlib
import signal
import statistics
from collections.abc import AsyncIterator, Iterator, Sequence

from benchmarks.figure import Figure
from benchmarks.resident import MIB, resident_bytes
from prober.service.lab_host import lab_host
from reliability.place import TIME_SCALE, Place, StageError, lab_order, require, target
from reliability.replica import Replica
from reliability.sizes import SoakSizes
from reliability.slope import BLOCKS, slope_of
from reliability.toll import File

WARM_UP = 0.3
"""Part of the runs after which caches, pools and the database have their size: the index of live probes, the largest of
them, is full with 10,000, of 11 or more a run."""

SLOPE_RUNS = 1_000
"""Below so many runs the memory still warms up, and its slope says nothing."""

HOUR = 3_600.0
SELF_TEST_SECONDS = 300
"""Seldom: the processes of a self-test take time from the runs that are to be many."""

CONCURRENCY = 4
SPARE_DESCRIPTORS = 12
"""Four more connections to the database, of three files each, which the pool opens when it is busy."""

OVER_CAP = 1.5
"""Between two prunings the file grows over its cap, and so does its write-ahead log."""


@dataclasses.dataclass(frozen=True, slots=True)
class Sample:
    """The service at one moment."""

    runs: int
    """Done so far."""
    resident: float
    """Bytes."""
    descriptors: int
    stored: int
    """Bytes of the database's files."""


async def soak(folder: pathlib.Path, sizes: SoakSizes, seed: int) -> list[Figure]:
    """Let it run, and judge.

    Raises:
        StageError: it could not be set up, ended, or did not come to so many runs.
    """
    loop = asyncio.get_running_loop()
    place = Place.lay_out(folder)
    async with (
        lab_host() as host,
        host.lab(lab_order(seed=seed)) as lab,
    ):
        config = _configure(place, lab.url, sizes)
        require(await place.command(config, "db", "upgrade"), "prober db upgrade")
        service = Replica(place, config, program=("-m", "reliability.hurried", str(sizes.prune_seconds)))
        try:
            await service.start()
            began = loop.time()
            samples = [sample async for sample in _sampled(service, place, sizes)]
            seconds = loop.time() - began
            code = await service.end()
        finally:
            if service.is_alive:
                with contextlib.suppress(StageError):
                    await service.end(signal.SIGKILL)
    return list(_figures(samples, sizes, File(place.file), service, code=code, seconds=seconds))


def _configure(place: Place, url: str, sizes: SoakSizes) -> pathlib.Path:
    targets = {f"healthy-{number}": target(url, "baseline", baseline_tokens=400) for number in range(sizes.targets)}
    return place.configure(
        "prober",
        targets,
        schedules={"often": {"every_seconds": sizes.every_seconds, "stagger_seconds": 0}},
        api={"port": 0},
        retention={"max_mebibytes": sizes.max_mebibytes},
        service={"concurrency": CONCURRENCY, "poll_seconds": 0.2, "self_test_seconds": SELF_TEST_SECONDS},
    )


async def _sampled(service: Replica, place: Place, sizes: SoakSizes) -> AsyncIterator[Sample]:
    file, pid = File(place.file), service.pid
    try:
        async with asyncio.timeout(sizes.most_seconds):
            while True:
                await asyncio.sleep(sizes.sample_seconds)
                if not service.is_alive:
                    raise StageError(f"the service ended: {service.last_words}")
                sample = await asyncio.to_thread(_sample, pid, file, place)
                yield sample
                if sample.runs >= sizes.runs:
                    return
    except TimeoutError:
        raise StageError(f"there were not {sizes.runs} runs within {sizes.most_seconds:.0f} s") from None


def _sample(pid: int, file: File, place: Place) -> Sample:
    ((runs,),) = file.rows("SELECT count(*) FROM jobs WHERE state = 'done'")
    return Sample(
        runs=runs,
        resident=resident_bytes(pid),
        descriptors=sum(1 for _ in pathlib.Path(f"/proc/{pid}/fd").iterdir()),
        stored=sum(each.stat().st_size for each in place.folder.glob("prober.db*")),
    )


def _figures(
    samples: Sequence[Sample], sizes: SoakSizes, file: File, service: Replica, *, code: int, seconds: float
) -> Iterator[Figure]:
    warm = [sample for sample in samples if sample.runs >= WARM_UP * samples[-1].runs]
    ((unclean,),) = file.rows("SELECT count(*) FROM jobs WHERE state = 'done' AND outcome <> 'clean'")
    ((missed,),) = file.rows("SELECT count(*) FROM jobs WHERE state = 'missed'")
    yield Figure(
        name="runs",
        value=samples[-1].runs,
        unit="runs",
        at_least=sizes.runs,
        beside=f"in {seconds:,.0f} s, {sizes.targets} targets, {CONCURRENCY} at once; overlapping slots: {missed}",
    )
    yield Figure(name="of these not CLEAN", value=unclean, unit="runs", at_most=0)
    yield Figure(name="virtual time of the lab", value=seconds / TIME_SCALE / HOUR, unit="h", at_least=1.0)
    yield from _of_memory(warm)
    yield from _of_descriptors(warm)
    stored = [sample.stored / MIB for sample in warm]
    yield Figure(
        name="largest size of the database, its log included",
        value=max(stored),
        unit="MiB",
        at_most=sizes.max_mebibytes * OVER_CAP,
        beside=f"cap {sizes.max_mebibytes} MiB; prunings: {service.events['pruned']}",
    )
    yield Figure(
        name="internal errors that the replica logged",
        value=service.faults.total(),
        unit="",
        at_most=0,
        beside="; ".join(service.faults),
    )
    yield Figure(name="its exit code", value=code, unit="", at_most=0)


def _of_memory(warm: Sequence[Sample]) -> Iterator[Figure]:
    runs, resident = [sample.runs / 1_000 for sample in warm], [sample.resident / 1024 for sample in warm]
    if len(warm) < BLOCKS:
        yield Figure(
            name="resident memory", value=max(resident) / 1024, unit="MiB", beside="too few samples for a slope"
        )
        return
    slope = slope_of(runs, resident)
    yield Figure(
        name="growth of memory per 1,000 runs: least it can be",
        value=slope.low,
        unit="KiB",
        at_most=0 if warm[-1].runs >= SLOPE_RUNS else None,
        beside=f"95 % interval {slope.low:,.0f} to {slope.high:,.0f} KiB, after {warm[0].runs} runs; "
        f"resident at first {resident[0] / 1024:.1f} MiB, in the end {resident[-1] / 1024:.1f} MiB",
    )


def _of_descriptors(warm: Sequence[Sample]) -> Iterator[Figure]:
    """The lowest count of a stretch is what stays open between runs."""
    stretch = max(1, len(warm) // BLOCKS)
    first, last = (min(sample.descriptors for sample in part) for part in (warm[:stretch], warm[-stretch:]))
    yield Figure(
        name="file descriptors more in the end than after warm-up",
        value=last - first,
        unit="",
        at_most=SPARE_DESCRIPTORS,
        beside=f"{first} -> {last}, median {statistics.median(sample.descriptors for sample in warm):.0f}",
    )
