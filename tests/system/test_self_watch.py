"""A replica that tests itself: real process, real lab children, a real receiver."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from prober.domain.campaign import Trigger
from prober.domain.job import JobRequest
from prober.service.lab_host import LabOrder, lab_host
from prober.store.database import Database
from prober.store.jobs import JobQueue
from prober.wiring.system import SystemClock
from tests.support.command import Workplace, workplace
from tests.support.receiving import receiving
from tests.support.replicas import LAB_KEYS, replica, serving

pytestmark = pytest.mark.slow

SHORT = {"scenarios": ["baseline"], "settings": {"baseline_probes": 1, "anchor_probes": 5, "baseline_tokens": 2_000}}


SLOT = JobRequest(target="hostile", trigger=Trigger.SCHEDULE)


@pytest.fixture
async def queue(place: Workplace) -> AsyncIterator[JobQueue]:
    """That of the replica, seen from beside it."""
    database = Database(f"sqlite:///{place.database}")
    yield JobQueue(database, SystemClock(), "test")
    await database.close()


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return workplace(tmp_path)


async def test_scheduled_runs_stand_on_a_self_test(place: Workplace, queue: JobQueue):
    """Where the alert route fails the run is in doubt; where all goes through, it is clean, and nobody saw the test."""
    async with (
        receiving(400) as own,
        receiving() as pager,
        lab_host() as host,
        host.lab(LabOrder(scene="small", keys=LAB_KEYS)) as lab,
    ):
        top = {
            "service": {"self_test": True, "self_test_seconds": 0},
            "notifications": {
                "canary": {"kind": "webhook", "url": own.url, "secret": "hmac-secret-0123", "self_test": True},
                "pager": {"kind": "webhook", "url": pager.url, "secret": "hmac-secret-4567"},
            },
        }
        serving(place, f"{lab.url}/v1", top=top, **SHORT)
        async with replica(place) as one:
            await queue.enqueue(SLOT)
            failed = await one.until("selftest_failed")
            in_doubt = await one.until("job_ended")
            await queue.enqueue(SLOT)
            await one.until("selftest_passed")
            sound = await one.until("job_ended", accepts=lambda event: event["job"] != in_doubt["job"])
            async with httpx.AsyncClient() as client:
                metrics = (await client.get(f"{one.named('serving')[0]['address']}/metrics")).text
            assert await one.end() == 0

    assert (failed["step"], failed["level"]) == ("alert", "error")
    assert (in_doubt["outcome"], sound["outcome"]) == ("inconclusive", "clean")
    assert one.named("run_ended")[0]["reasons"] == ["selftest_failed"]
    order = [event["event"] for event in one.events]
    assert order.index("job_claimed") < order.index("selftest_failed") < order.index("run_started")
    assert {event["target"] for event in one.events if "target" in event} == {"hostile"}

    shown = dict(line.rsplit(" ", 1) for line in metrics.splitlines() if line.startswith("prober_"))
    assert shown['prober_selftest_failures_total{step="alert"}'] == "1.0"
    assert float(shown["prober_selftest_last_success_timestamp_seconds"]) > 0
    assert shown['prober_findings_total{outcome="violation",reason="foreign_canary",target="hostile"}'] == "0.0"
    assert shown['prober_inconclusive_findings_total{reason="selftest_failed",target="hostile"}'] == "1.0"
    assert {value for name, value in shown.items() if name.startswith("prober_internal_errors")} == {"0.0"}
    assert "self-test/" not in metrics

    assert {body["type"] for body in own.taken} == {"issue.opened", "issue.resolved"}
    assert pager.tries == 0
    assert place.rows("SELECT DISTINCT target FROM runs") == [("hostile",)]
    assert place.rows("SELECT count(*) FROM issues") == [(0,)]
    assert place.rows("SELECT count(*) FROM notices") == [(0,)]
    stored = place.rows("SELECT outcome, detector FROM findings WHERE reason = 'selftest_failed'")
    assert stored == [("inconclusive", "self_watch")]
