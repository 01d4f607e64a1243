"""The global stop over the API."""

import datetime as dt

from prober.domain.account import Scope
from tests.support.api import V1, Served

STOP = f"{V1}/stop"


async def test_all_probing_is_stopped_and_goes_on_in_the_tokens_name(api_anywhere: Served):
    """No replica claims what waits in between; whoever finds it quiet learns who did that, and when."""
    api = api_anywhere
    async with await api.caller(Scope.ADMIN, Scope.READ, Scope.RUN, name="oncall") as client:
        released = {"is_thrown": False, "thrown_at": None, "thrown_by": ""}
        assert (await client.get(STOP)).json() == released

        stopped = (await client.post(STOP)).json()
        assert (stopped["is_thrown"], stopped["thrown_by"]) == (True, "oncall")
        assert dt.datetime.fromisoformat(stopped["thrown_at"]) == api.clock.now()
        assert (await client.get(STOP)).json() == stopped
        assert (await client.post(f"{V1}/runs", json={"target": "staging"})).status_code == 202
        assert await api.queue.claim(["staging"], dt.timedelta(minutes=1)) is None

        assert (await client.delete(STOP)).json() == released
        assert (await client.get(STOP)).json() == released
        assert await api.queue.claim(["staging"], dt.timedelta(minutes=1)) is not None


async def test_a_stop_is_thrown_once(api: Served):
    """The first one keeps its date and name, so that a second press hides nobody; to release nothing is no fault."""
    async with await api.caller(Scope.ADMIN, name="first") as first, await api.caller(Scope.ADMIN, name="late") as late:
        stopped = (await first.post(STOP)).json()
        api.clock.advance(60)
        assert (await late.post(STOP)).json() == stopped
        answers = [await late.delete(STOP), await first.delete(STOP)]
    assert [(answered.status_code, answered.json()["is_thrown"]) for answered in answers] == [(200, False)] * 2
