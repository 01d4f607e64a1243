import asyncio
import dataclasses

import hypothesis
import pytest
from hypothesis import strategies as st

from prober.domain.errors import LabError
from prober.lab.settings import LabSettings
from tests.support.cache_bench import TIERED, TINY, CacheBench, cache_bench, prompt_of
from tests.support.cluster import until

SETTINGS = pytest.mark.parametrize("settings", [TINY, TIERED], ids=["device", "tiered"])


@dataclasses.dataclass(frozen=True)
class Asked:
    """One request of a crowd."""

    tenant: str
    salt: str
    prompt: tuple[int, ...]
    answer: int
    turns_before: int
    """Turns of the event loop before it is sent, after the one before it."""
    turns_until_abort: int | None


@st.composite
def prompts(draw: st.DrawFn) -> tuple[int, ...]:
    """Few stems and few ends, so that prompts share beginnings that end anywhere, or are the same."""
    stem = draw(st.integers(1, 3))
    shared = draw(st.integers(0, 25))
    end = draw(st.integers(4, 6))
    return (*prompt_of(stem, shared), *prompt_of(end, draw(st.integers(1, 20))))


crowds = st.lists(
    st.builds(
        Asked,
        tenant=st.sampled_from("ab"),
        salt=st.sampled_from(["", "s"]),
        prompt=prompts(),
        answer=st.integers(1, 9),
        turns_before=st.integers(0, 12),
        turns_until_abort=st.none() | st.integers(0, 30),
    ),
    min_size=1,
    max_size=20,
)


def shared_tokens(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Length of the longest common beginning."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))


async def meet(settings: LabSettings, crowd: list[Asked]) -> None:
    """Serve a crowd: each that stays reads its own prompt, and is told of no token that nobody of its own has sent."""
    async with cache_bench(settings) as bench:
        sent: list[tuple[Asked, asyncio.Task]] = []
        for asked in crowd:
            for _turn in range(asked.turns_before):
                await asyncio.sleep(0)
            sent.append((asked, asyncio.create_task(serve(bench, asked))))
        async with asyncio.timeout(20):
            await asyncio.wait([task for _asked, task in sent])
        for place, (asked, task) in enumerate(sent):
            own = [other.prompt for other, _task in sent if (other.tenant, other.salt) == (asked.tenant, asked.salt)]
            own.remove(asked.prompt)
            served = task.result()
            if served is not None:
                assert served.read == list(asked.prompt), place
                most = max((shared_tokens(asked.prompt, other) for other in own), default=0)
                assert served.cached_tokens <= min(most, len(asked.prompt) - 1), place


async def serve(bench: CacheBench, asked: Asked):
    """Serve one request; None when it was aborted."""
    serving = asyncio.create_task(bench.serve(list(asked.prompt), asked.tenant, asked.salt, asked.answer))
    if asked.turns_until_abort is not None:
        for _turn in range(asked.turns_until_abort):
            await asyncio.sleep(0)
        serving.cancel()
    try:
        return await serving
    except asyncio.CancelledError:
        return None


@pytest.mark.no_coverage
@SETTINGS
@hypothesis.given(crowd=crowds, failures=st.sampled_from([0.0, 0.5]))
@hypothesis.settings(max_examples=150)
def test_a_healthy_cache_never_changes_what_is_read(settings: LabSettings, crowd: list[Asked], failures: float):
    """Every request reads its own prompt, and pays for what its tenant has not sent with the same salt.

    Whatever tenants, salts, beginnings, evictions, loads, failed loads and aborts come together; and no page is lost.
    """
    honesty = dataclasses.replace(settings.honesty, load_failure_rate=failures)
    asyncio.run(meet(dataclasses.replace(settings, honesty=honesty), crowd))


async def test_a_prompt_is_computed_once():
    """Sent again, a prompt reads the earlier pages and computes its last token only, in a page of its own."""
    async with cache_bench() as bench:
        first = await bench.serve(prompt_of(1, 40))
        again = await bench.serve(prompt_of(1, 40))
        assert (first.cached_tokens, again.cached_tokens) == (0, 39)
        assert again.owners == [first.room] * 9 + [again.room]


@pytest.mark.parametrize(("tokens", "cached"), [(40, 39), (41, 40), (42, 40), (43, 40)])
async def test_the_last_token_is_always_computed(tokens: int, cached: int):
    """However much is cached, the token before the answer is computed, as its output is the answer's first token.

    What fills no whole page is not kept.
    """
    async with cache_bench() as bench:
        await bench.serve(prompt_of(1, tokens))
        assert (await bench.serve(prompt_of(1, tokens))).cached_tokens == cached


async def test_a_page_that_differs_late_is_copied_up_to_there():
    """Two prompts that part within a page share its beginning by a copy: neither writes into the other's page."""
    async with cache_bench() as bench:
        first = await bench.serve([*prompt_of(1, 10), *prompt_of(2, 10)])
        other = await bench.serve([*prompt_of(1, 10), *prompt_of(3, 10)])
        assert other.cached_tokens == 10
        assert other.read == [*prompt_of(1, 10), *prompt_of(3, 10)]
        assert other.owners == [first.room] * 2 + [other.room] * 3
        assert (await bench.serve([*prompt_of(1, 10), *prompt_of(2, 10)])).read == first.read


@pytest.mark.parametrize(("tenant", "salt"), [("b", ""), ("a", "s"), ("b", "s"), ("", "a")])
async def test_tenants_and_salts_share_nothing(tenant: str, salt: str):
    """The same prompt of another tenant, or with another salt, is computed anew."""
    async with cache_bench() as bench:
        await bench.serve(prompt_of(1, 40), "a")
        assert (await bench.serve(prompt_of(1, 40), tenant, salt)).cached_tokens == 0


async def test_pages_unused_for_longest_are_evicted_from_the_end():
    """When the pool runs short, what was used longest ago goes first, and of a prompt its end."""
    async with cache_bench() as bench:
        for start in (1, 2):
            await bench.serve(prompt_of(start, 40))
        await bench.serve(prompt_of(1, 40))
        await bench.serve(prompt_of(3, 40))
        assert (await bench.serve(prompt_of(1, 40))).cached_tokens == 39
        assert 0 < (await bench.serve(prompt_of(2, 40))).cached_tokens < 36


async def test_shared_pages_outlive_an_eviction_under_pressure():
    """A page that somebody reads is not evicted, however short the pool is: who does not fit waits."""
    async with cache_bench(time_scale=1e-4) as bench:
        await bench.serve(prompt_of(1, 40))
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(bench.serve(prompt_of(1, 40), answer=30))
            for start in range(2, 6):
                group.create_task(bench.serve(prompt_of(start, 50)))
        assert serving.result().read == prompt_of(1, 40)
        assert serving.result().cached_tokens == 39


async def test_a_prompt_larger_than_half_of_the_pool_finds_itself():
    """Room is needed for what is not shared only, so that even a prompt that nearly fills the pool is a hit."""
    async with cache_bench() as bench:
        await bench.serve(prompt_of(1, 80))
        assert (await bench.serve(prompt_of(1, 80))).cached_tokens == 79


async def test_a_prompt_that_can_never_fit_says_so():
    """A cache does not make the pool larger."""
    async with cache_bench() as bench:
        with pytest.raises(LabError, match="can never fit"):
            await bench.serve(prompt_of(1, 97))


async def test_an_aborted_prefill_leaves_nothing_behind():
    """Of a prompt whose computation was not finished no page is kept."""
    async with cache_bench(time_scale=0.1) as bench:
        serving = asyncio.create_task(bench.serve(prompt_of(1, 40)))
        await until(lambda: bench.pool.used_tokens)
        serving.cancel()
        await asyncio.wait([serving])
        assert bench.cache.idle == 0
        assert (await bench.serve(prompt_of(1, 40))).cached_tokens == 0


async def test_two_alike_at_once_keep_one_copy():
    """The second of two prompts that were computed side by side gives its pages back."""
    async with cache_bench() as bench:
        async with asyncio.TaskGroup() as group:
            both = [group.create_task(bench.serve(prompt_of(1, 40))) for _ in range(2)]
        assert [each.result().cached_tokens for each in both] == [0, 0]
        assert bench.cache.idle == 10
