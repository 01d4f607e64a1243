"""Schedules over the API."""

from prober.domain.account import Scope
from tests.support.api import V1, Served

SCHEDULES = f"{V1}/schedules"


async def test_schedules_are_listed_with_their_next_slot(api: Served):
    """What runs by itself, on what, and when next."""
    async with await api.caller(Scope.READ) as client:
        answered = await client.get(SCHEDULES)
    assert answered.json()["items"] == [
        {
            "name": "nightly",
            "targets": ["staging"],
            "when": "every 15 minutes",
            "next_at": "2026-09-01T12:15:00Z",
            "is_paused": False,
            "paused_by": "",
        }
    ]


async def test_a_schedule_is_paused_and_resumed_in_the_tokens_name(api: Served):
    """Whoever finds it quiet learns who did that."""
    async with await api.caller(Scope.ADMIN, Scope.READ, name="oncall") as client:
        paused = (await client.post(f"{SCHEDULES}/nightly/pause")).json()
        assert (paused["is_paused"], paused["paused_by"], paused["next_at"]) == (True, "oncall", None)
        assert (await client.get(SCHEDULES)).json()["items"] == [paused]
        resumed = (await client.post(f"{SCHEDULES}/nightly/resume")).json()
    assert (resumed["is_paused"], resumed["paused_by"]) == (False, "")


async def test_nobodys_schedule_is_404(api: Served):
    """And a name that none can have is 422."""
    async with await api.caller(Scope.ADMIN) as client:
        for step in ("pause", "resume"):
            assert (await client.post(f"{SCHEDULES}/hourly/{step}")).status_code == 404
            assert (await client.post(f"{SCHEDULES}/a%00b/{step}")).status_code == 422
            assert (await client.post(f"{SCHEDULES}/{'a' * 64}/{step}")).status_code == 422
