"""Token pacing, by arithmetic and by a clock that only moves when somebody sleeps."""

import asyncio
import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.domain.errors import ConfigError
from prober.domain.observation import FailureKind
from prober.endpoint.token_pacing import BURST_SECONDS, TokenBucket, TokenPace, TokenPaces
from tests.support.hostile import Peer, answering, response
from tests.support.http_endpoint import ALICE, BOB, SystemClock, make_endpoint, make_probe, make_prompt, serving
from tests.support.ledger import SettableClock

RATE = 100
"""Tokens per second of most tests; the burst is six seconds' worth."""
BURST = round(RATE * BURST_SECONDS)


class VirtualTime(SettableClock):
    """Sleeping takes no real time: it moves the clock, and lets every other task run."""

    def __init__(self) -> None:
        super().__init__()
        self.naps = 0

    async def sleep(self, seconds: float) -> None:
        self.naps += 1
        await asyncio.sleep(0)
        self.advance(seconds)
        await asyncio.sleep(0)


def pace(time: VirtualTime, rate: int = RATE) -> TokenPace:
    return TokenPace(60 * rate, time, time.sleep)


class Starts:
    """Who started when."""

    def __init__(self, time: VirtualTime, paced: TokenPace) -> None:
        self.time = time
        self.paced = paced
        self.seen: list[tuple[str, float]] = []

    async def ask(self, name: str, tokens: int) -> None:
        await self.paced.acquire(tokens)
        self.seen.append((name, round(self.time.monotonic(), 3)))

    @property
    def order(self) -> list[str]:
        return [name for name, _ in self.seen]


async def test_a_million_tokens_are_not_starved_by_small_requests():
    """A probe far above the burst starts in its turn, though small ones keep coming; it owes, and they wait for it."""
    time = VirtualTime()
    starts = Starts(time, pace(time))
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(starts.ask("small-0", 60))
        group.create_task(starts.ask("large", 1_000_000))
        for number in range(1, 6):
            group.create_task(starts.ask(f"small-{number}", 60))

    assert starts.order == ["small-0", "large", *(f"small-{number}" for number in range(1, 6))]
    at = dict(starts.seen)
    assert at["large"] == pytest.approx(0.6)
    assert at["small-1"] == pytest.approx(0.6 + 1_000_000 / RATE - (BURST - 60) / RATE, abs=0.01)
    assert at["small-5"] - at["small-1"] == pytest.approx(4 * 60 / RATE, abs=0.01)


async def test_requests_start_in_the_order_they_came():
    """First come, first served, whatever their sizes: nobody is overtaken."""
    time = VirtualTime()
    starts = Starts(time, pace(time))
    sizes = [500, 5, 900, 1, 2_500, 40, 7]
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        for number, size in enumerate(sizes):
            group.create_task(starts.ask(str(number), size))
            await asyncio.sleep(0)

    assert starts.order == [str(number) for number in range(len(sizes))]


async def test_over_time_the_rate_is_exact():
    """An hour of mixed requests takes the seconds that their tokens take, less the burst at the beginning."""
    time = VirtualTime()
    paced = pace(time)
    sizes = [7, 5_000, 60, 601, 1, 20_000] * 14
    for size in sizes:
        await paced.acquire(size)
    await paced.acquire(BURST)

    assert time.monotonic() == pytest.approx(sum(sizes) / RATE, abs=0.01)


async def test_one_that_gives_up_leaves_the_queue_and_takes_nothing():
    """Cancelled while waiting: those behind it start as if it had never come."""
    time = VirtualTime()
    starts = Starts(time, pace(time))
    await starts.ask("first", BURST)
    waiting = [asyncio.ensure_future(starts.ask(name, 300)) for name in ("head", "gone", "last")]
    await asyncio.sleep(0)
    waiting[1].cancel()
    async with asyncio.timeout(30):
        await asyncio.wait(waiting)

    assert starts.order == ["first", "head", "last"]
    assert dict(starts.seen)["last"] == pytest.approx(6.0, abs=0.01)


async def test_the_head_that_gives_up_makes_way():
    """Even the one whose turn it is."""
    time = VirtualTime()
    starts = Starts(time, pace(time))
    await starts.ask("first", BURST)
    head, last = (asyncio.ensure_future(starts.ask(name, 300)) for name in ("head", "last"))
    await asyncio.sleep(0)
    head.cancel()
    async with asyncio.timeout(30):
        await last

    assert starts.order == ["first", "last"]


async def test_what_is_refunded_is_not_waited_for():
    """A prompt of a million tokens that was refused cost nothing: who waits behind it starts within a second."""
    time = VirtualTime()
    paced = pace(time)
    await paced.acquire(1_000_000)
    waiter = asyncio.ensure_future(paced.acquire(60))
    await asyncio.sleep(0)
    paced.refund(1_000_000)
    async with asyncio.timeout(30):
        await waiter

    assert time.monotonic() <= 2


async def test_waiting_does_not_poll_fast():
    """The head looks once a second, and those behind it not at all."""
    time = VirtualTime()
    starts = Starts(time, pace(time))
    await starts.ask("first", BURST)
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        for number in range(50):
            group.create_task(starts.ask(str(number), RATE))

    assert time.naps <= 60


@given(
    st.lists(st.tuples(st.integers(0, 20_000), st.floats(0, 30)), min_size=1, max_size=40),
    st.floats(0, 60),
    st.floats(0.1, 120),
)
def test_no_span_of_time_holds_more_than_its_tokens_and_one_burst_or_request(
    asks: list[tuple[int, float]], start: float, length: float
):
    """In any T seconds: rate x T, and the larger of the burst and the largest request, at most."""
    bucket = TokenBucket(rate=RATE, burst=BURST, level=BURST, at=0.0)
    now, started = 0.0, []
    for tokens, pause in asks:
        now += pause
        now += bucket.wait(tokens, now)
        assert bucket.wait(tokens, now) <= 1e-6
        bucket = bucket.take(tokens, now)
        started.append((now, tokens))

    within = sum(tokens for at, tokens in started if start <= at < start + length)
    assert within <= RATE * length + max(BURST, *(tokens for tokens, _ in asks)) + 1


@given(st.integers(0, 10**7), st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_clock_that_stands_or_goes_back_gives_no_tokens(tokens: int, at: float, now: float):
    """Tokens come from time that passed only, and never above the burst."""
    bucket = TokenBucket(rate=RATE, burst=BURST, level=0.0, at=at)
    full = bucket.put_back(tokens, now)
    assert 0 <= full.level <= BURST
    if now <= at:
        assert bucket.put_back(0, now).level == 0


def test_a_rate_of_zero_is_refused():
    """It would wait for ever."""
    with pytest.raises(ConfigError):
        TokenPace(0, VirtualTime())


async def test_tenants_have_their_own_pace_and_share_the_targets():
    """One tenant's debt is not the other's; the target's is everybody's. The wait is told."""
    time = VirtualTime()
    own = TokenPaces(tokens_per_minute=None, tenant_tokens_per_minute=60 * RATE, clock=time, sleep=time.sleep)
    await own.pay("alpha", 10 * BURST)
    assert (await own.pay("bravo", BURST)).waited == 0
    assert (await own.pay("alpha", 0)).waited == pytest.approx(9 * BURST / RATE)

    shared = TokenPaces(tokens_per_minute=60 * RATE, tenant_tokens_per_minute=None, clock=time, sleep=time.sleep)
    await shared.pay("alpha", 10 * BURST)
    assert (await shared.pay("bravo", 0)).waited == pytest.approx(9 * BURST / RATE)


async def test_who_gives_up_waiting_for_the_target_has_its_tenants_tokens_back():
    """Nothing was sent, so nothing was used."""
    time = VirtualTime()
    paces = TokenPaces(tokens_per_minute=60, tenant_tokens_per_minute=60 * RATE, clock=time, sleep=time.sleep)
    await paces.pay("bravo", 100_000)
    waiter = asyncio.ensure_future(paces.pay("alpha", BURST))
    for _ in range(5):
        await asyncio.sleep(0)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    alpha = paces._of_tenants["alpha"]
    assert alpha._bucket.level == BURST


# --- at work in the endpoint ----------------------------------------------------------------------------------------


def paced_endpoint_settings(tokens_per_minute: int) -> dict[str, object]:
    clock = SystemClock()
    return {"paces": TokenPaces(tokens_per_minute=tokens_per_minute, tenant_tokens_per_minute=None, clock=clock)}


async def served(peer: Peer) -> None:
    await answering(response("200 OK", b'{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}'))(peer)


async def test_tokens_are_waited_for_before_the_probes_clock_starts():
    """The wait stands in `throttle_wait`, of any tenant of the target; the timeline begins behind it."""
    async with serving(served, **paced_endpoint_settings(60 * 100)) as (endpoint, _):
        # 600 of burst; 10 planned and 64 of output each, after one that takes 600 + 30.
        large = dataclasses.replace(make_prompt(), planned_tokens=566)
        first = await endpoint.send(make_probe(ALICE), large)
        second = await endpoint.send(make_probe(BOB), make_prompt())

    assert first.timeline.throttle_wait < 0.2
    assert second.timeline.throttle_wait >= 0.95
    assert second.timeline.first_byte is not None
    assert second.timeline.first_byte < 0.7


async def test_what_the_target_refused_or_never_got_is_not_paid_for():
    """A refusal cost the target no tokens, and neither did a connection that failed."""
    refusing = answering(response("400 Bad Request", b'{"error":{"message":"too long"}}'))
    settings = paced_endpoint_settings(60 * 100)
    large = dataclasses.replace(make_prompt(), planned_tokens=1_000_000)
    async with serving(refusing, **settings) as (endpoint, _):
        assert (await endpoint.send(make_probe(), large)).refusal is not None
        assert (await endpoint.send(make_probe(), make_prompt())).timeline.throttle_wait < 0.5

    dead = make_endpoint("http://127.0.0.1:9/v1", **settings)
    try:
        assert (await dead.send(make_probe(), large)).failure is FailureKind.CONNECT
        assert (await dead.send(make_probe(), make_prompt())).timeline.throttle_wait < 0.5
    finally:
        await dead.close()


async def test_a_probe_cancelled_before_its_start_has_paid_nothing():
    """The starts per period may keep it waiting behind the tokens; given up there, it gives them back."""
    settings = {**paced_endpoint_settings(60 * 100), "starts_per_period": 1, "period_seconds": 30.0}
    async with serving(served, **settings) as (endpoint, _):
        await endpoint.send(make_probe(), make_prompt())
        waiter = asyncio.ensure_future(
            endpoint.send(make_probe(), dataclasses.replace(make_prompt(), planned_tokens=100_000))
        )
        await asyncio.sleep(0.2)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        paces = settings["paces"]
        assert paces._of_target[0]._bucket.level >= 500
