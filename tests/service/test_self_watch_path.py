"""The whole path of the self-test against the real lab, and each of its steps failing."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from prober.config.schema import Settings
from prober.domain.errors import LabError, LedgerError
from prober.domain.self_test import self_test_name
from prober.domain.verdict import Spending
from prober.service import self_watch_path as module
from prober.service.lab_host import HostedLab, LabHost, LabOrder, lab_host
from prober.service.self_watch_alert import alert
from prober.service.self_watch_lab import leaking_lab, target_of
from prober.service.self_watch_path import SECONDS, SelfTestPath, StepFailedError
from prober.service.self_watch_receiver import OwnReceiver
from prober.store.ledger import SqlLedger
from prober.telemetry.self_test_series import SelfTestTelemetry, Step
from prober.wiring.self_test import self_testing
from prober.wiring.service import Replica, open_replica
from prober.wiring.system import Switch
from tests.support.command import Workplace, workplace
from tests.support.reports import a_leak, a_report, a_run
from tests.support.stored import judged
from tests.wiring.test_prober import a_log, settings_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROWS = """
SELECT 'runs', count(*) FROM runs UNION ALL SELECT 'probes', count(*) FROM probes
UNION ALL SELECT 'findings', count(*) FROM findings UNION ALL SELECT 'issues', count(*) FROM issues
UNION ALL SELECT 'issue_history', count(*) FROM issue_history UNION ALL SELECT 'notices', count(*) FROM notices
UNION ALL SELECT 'receivers', count(*) FROM receivers UNION ALL SELECT 'spending', count(*) FROM spending
UNION ALL SELECT 'vault_excerpts', count(*) FROM vault_excerpts UNION ALL SELECT 'jobs', count(*) FROM jobs
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def host() -> AsyncIterator[LabHost]:
    """One child for the module; each self-test has a lab of its own in it."""
    async with lab_host() as shared:
        yield shared


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return workplace(tmp_path).configure("http://127.0.0.1:9/v1")


class Bench:
    """A replica's parts, with self-tests of them."""

    def __init__(self, replica: Replica, settings: Settings, place: Workplace, host: LabHost) -> None:
        self.replica, self.place, self.host = replica, place, host
        self.log, self.stream = a_log(settings)
        self.orders: list[LabOrder] = []

    def path(self, change: Callable[[LabOrder], LabOrder] = lambda order: order, **seconds: float) -> SelfTestPath:
        bounds: Mapping[Step, float] = dict(SECONDS) | {Step(name): bound for name, bound in seconds.items()}

        def lab(order: LabOrder) -> contextlib.AbstractAsyncContextManager[HostedLab]:
            self.orders.append(order)
            return self.host.lab(change(order))

        return SelfTestPath(self.replica.prober, self.replica.self_test, log=self.log, lab=lab, seconds=bounds)

    async def fails(self, path: SelfTestPath, step: Step, *words: str) -> None:
        """Walk, and fail there, saying so in words of ours; nothing is left behind."""
        with pytest.raises(StepFailedError) as caught:
            await path.walk()
        assert path.step is step
        for word in words:
            assert word in str(caught.value)
        assert self.rows() == {}

    def rows(self) -> dict[str, int]:
        """Tables that hold anything."""
        return {table: count for table, count in self.place.rows(ROWS) if count}


@pytest_asyncio.fixture(loop_scope="module")
async def bench(place: Workplace, host: LabHost) -> AsyncIterator[Bench]:
    settings = settings_of(place)
    async with open_replica(settings, log=a_log(settings)[0], stop=Switch()) as replica:
        yield Bench(replica, settings, place, host)


async def test_it_walks_from_the_leak_to_the_receiver_unseen(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    """Its rows are stored and told while it lasts, and nobody else's look-up shows them; then only its series moved."""
    prober, outbox, seen = bench.replica.prober, bench.replica.outbox, {}

    async def look(*arguments: object) -> None:
        seen["rows"] = bench.rows()
        seen["shown"] = (
            *(await prober.lookups.runs(), await prober.lookups.findings()),
            *(await prober.issues.listed(), await prober.issues.unsettled()),
            await outbox.backlog(),
        )
        await alert(*arguments)
        seen["told"] = bench.place.rows("SELECT count(*) FROM notices WHERE sent_at IS NOT NULL")

    monkeypatch.setattr(module, "alert", look)
    before = of_others(prober.metrics.text())
    path = bench.path()
    await path.walk()

    assert path.step is Step.ALERT
    assert {"runs", "probes", "findings", "issues", "notices"} <= set(seen["rows"])
    assert "spending" not in seen["rows"]
    assert seen["shown"] == ((), (), (), (), ())
    assert seen["told"] == [(2,)]
    assert prober.metrics.shown("prober_selftest_violations_total") >= 1
    assert of_others(prober.metrics.text()) == before
    assert bench.rows() == {}
    assert bench.stream.getvalue() == ""


def of_others(text: str) -> list[str]:
    """What the exposition says of everything else."""
    return [line for line in text.splitlines() if "prober_selftest_" not in line]


async def test_a_detector_that_sees_nothing_fails(bench: Bench):
    """A lab that does not leak stands for one: no violation is found, and that is no success."""
    await bench.fails(bench.path(lambda order: dataclasses.replace(order, faults={})), Step.DETECTOR, "lab that leaks")


async def test_a_ledger_that_loses_findings_fails(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    """The run says that it found the leak; the database does not know of it."""

    async def lose(*_: object, **__: object) -> None:
        return

    monkeypatch.setattr(SqlLedger, "record", lose)
    await bench.fails(bench.path(), Step.LEDGER, "not in the database")


@pytest.mark.parametrize(
    ("heard", "word"), [((), "not counted"), (("metrics",), "did not move"), (("metrics", "series"), None)]
)
async def test_metrics_that_do_not_move_fail(bench: Bench, heard: tuple[str, ...], word: str | None):
    """Neither the series that count a target's findings may stand still, nor the one that users scrape."""
    name, series, run = self_test_name("0a1b2c3d"), bench.replica.self_test, a_run()
    prober = self_testing(bench.replica.prober, name, target_of(leaking_lab(), "http://127.0.0.1:9"), series)
    target = dataclasses.replace(run.campaign.target, name=name)
    run = dataclasses.replace(run, campaign=dataclasses.replace(run.campaign, target=target))
    members = {"metrics": prober.metrics.metrics, "series": SelfTestTelemetry(series, print)}
    for member in heard:
        members[member].probe_judged(run, judged(a_leak()), Spending())
    found = module._Found(prober=prober, name=name, report=a_report())

    if word is None:
        await bench.path()._look_up(found)
    else:
        with pytest.raises(StepFailedError, match=word):
            await bench.path()._look_up(found)


async def test_a_receiver_that_is_dead_fails(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    """It answers nothing: the notice is tried until the step's bound, and the log names the answer."""

    async def hang_up(_: OwnReceiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        writer.close()

    monkeypatch.setattr(OwnReceiver, "serve", hang_up)
    await bench.fails(bench.path(alert=1.5), Step.ALERT, "did not end within 1.5 s")
    assert '"event": "notice_not_taken"' in bench.stream.getvalue()


async def test_a_run_that_hangs_is_cut(bench: Bench):
    """In its middle, within its bound: no request goes on, no row stays, and the next one succeeds at finding."""
    began = asyncio.get_running_loop().time()
    await bench.fails(bench.path(detector=0.5), Step.DETECTOR, "did not end within 0.5 s")
    assert asyncio.get_running_loop().time() - began < SECONDS[Step.DETECTOR] / 2


async def test_a_step_that_will_not_be_cut_is_left(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    """Cancelled twice and still there: nobody waits for it any more."""
    monkeypatch.setattr(module, "END_LAB_SECONDS", 0.1)
    ends = asyncio.Event()

    @contextlib.asynccontextmanager
    async def stubborn(_: LabOrder) -> AsyncIterator[HostedLab]:
        while not ends.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await ends.wait()
        raise LabError("too late")
        yield

    path = SelfTestPath(
        bench.replica.prober, bench.replica.self_test, log=bench.log, lab=stubborn, seconds={Step.LAB: 0.1}
    )
    async with asyncio.timeout(5):
        await bench.fails(path, Step.LAB, "did not end within 0.1 s")
    ends.set()


async def test_a_lab_that_does_not_start_fails(bench: Bench):
    """It says what the lab said."""
    path = bench.path(lambda order: dataclasses.replace(order, faults={"no_such_fault": 1.0}))
    await bench.fails(path, Step.LAB, "cannot be served")


async def test_a_database_that_is_gone_fails_and_is_cleaned_up_later(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    """What cannot be deleted now is said; it is not a second failure."""

    async def gone(*_: object) -> None:
        raise LedgerError("The database does not answer.")

    monkeypatch.setattr(module, "forget", gone)
    monkeypatch.setattr(SqlLedger, "open_run", gone)
    await bench.fails(bench.path(), Step.DETECTOR, "The database does not answer.")
    assert '"event": "selftest_not_forgotten"' in bench.stream.getvalue()
