import asyncio

import pytest

from prober.domain.probe import Disconnect, DisconnectMoment
from prober.endpoint.disconnect import HangUp

pytestmark = pytest.mark.alone

EVENTS = ("on_request_start", "on_headers", "on_body_received", "on_first_token")


@pytest.mark.parametrize(
    ("moment", "arms", "disarms"),
    [
        (DisconnectMoment.BEFORE_HEADERS, "on_request_start", "on_headers"),
        (DisconnectMoment.MID_PREFILL, "on_body_received", "on_first_token"),
        (DisconnectMoment.MID_STREAM, "on_first_token", None),
        (DisconnectMoment.AFTER_TOKENS, None, None),
    ],
)
async def test_each_moment_has_its_own_events(moment: DisconnectMoment, arms: str | None, disarms: str | None):
    """A plan is armed by its event, disarmed by the event that voids it, and untouched by all others."""
    hang_up = HangUp(Disconnect(moment=moment, after_seconds=9, after_tokens=2))
    async with hang_up.timeout:
        for event in EVENTS:
            if event not in {arms, disarms}:
                getattr(hang_up, event)()
                assert hang_up.timeout.when() is None
        if arms is not None:
            before = asyncio.get_running_loop().time()
            getattr(hang_up, arms)()
            assert hang_up.timeout.when() - before >= 9
        if disarms is not None:
            getattr(hang_up, disarms)()
            assert hang_up.timeout.when() is None


async def test_armed_plan_keeps_its_first_moment():
    """A repeated event does not put the hang-up off."""
    hang_up = HangUp(Disconnect(moment=DisconnectMoment.MID_STREAM, after_seconds=9))
    async with hang_up.timeout:
        hang_up.on_first_token()
        due = hang_up.timeout.when()
        await asyncio.sleep(0.01)
        hang_up.on_first_token()
        assert hang_up.timeout.when() == due
        hang_up.timeout.reschedule(None)


async def test_event_that_comes_too_late_is_harmless():
    """Headers that arrive while we already hang up change nothing."""
    hang_up = HangUp(Disconnect(moment=DisconnectMoment.BEFORE_HEADERS))

    async def exchange() -> None:
        async with hang_up.timeout:
            hang_up.on_request_start()
            try:
                await asyncio.sleep(1)
            finally:
                hang_up.on_headers()

    with pytest.raises(TimeoutError):
        await exchange()
    assert hang_up.timeout.expired()


@pytest.mark.parametrize(
    ("plan", "due"),
    [
        (None, False),
        (Disconnect(moment=DisconnectMoment.MID_STREAM, after_tokens=1), False),
        (Disconnect(moment=DisconnectMoment.AFTER_TOKENS, after_tokens=3), False),
        (Disconnect(moment=DisconnectMoment.AFTER_TOKENS, after_tokens=2), True),
    ],
)
async def test_token_count_is_due_for_its_own_plan_only(plan: Disconnect | None, *, due: bool):
    """AFTER_TOKENS is due from its count on; other plans never are by tokens."""
    assert HangUp(plan).is_due_after(2) is due
