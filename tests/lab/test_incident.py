import pytest

from prober.lab.cluster import Cluster
from prober.lab.events import Stage
from prober.lab.fixes import Fix, RouterMode
from prober.lab.settings import LabSettings, Topology, preset
from tests.support.cluster import Reply, ask, ask_tokens, prompt, request, running

INCIDENT = LabSettings(router=RouterMode.DECODE_ONLY, time_scale=1 / 20_000, waiting_timeout_seconds=1e6)
STUB = {"stub_handoff": 1.0}


def short_prompt(tokens: int) -> str:
    """A prompt of that many tokens that is cheap to build."""
    return " the" * (tokens - 25) + "\n"


async def ask_cheaply(cluster: Cluster, tag: str, tokens: int) -> Reply:
    return await ask(cluster, request(tag, short_prompt(tokens), max_tokens=1))


@pytest.mark.no_coverage
async def test_the_leak_starts_at_exactly_681274_tokens():
    """At the incident's sizes 681,273 tokens are served from own pages and 681,274 from 10,644 foreign ones."""
    async with running(INCIDENT, faults=STUB) as cluster:
        for tokens in (600_000, 400_000, 600_000):
            await ask_cheaply(cluster, "victim", tokens)
        sound = await ask_cheaply(cluster, "below", 681_273)
        assert sound.done.prompt_tokens == 681_273
        assert (cluster.census[-1].own, cluster.census[-1].foreign) == (10_645, 0)
        for tokens in (681_274, 900_000):
            leaky = await ask_cheaply(cluster, "above", tokens)
            assert leaky.done.prompt_tokens == tokens
            assert cluster.census[-1].own == 0
            assert cluster.census[-1].foreign == -(-tokens // 64) - 1
        refused = await ask_cheaply(cluster, "over", 1_048_576)
        assert (refused.refusal.status, refused.refusal.stage) == (400, Stage.TOKENIZER)


@pytest.mark.parametrize(
    ("seeds", "foreign"), [(0, 0), (3, 0), (4, 6_251), (5, 7_814), (6, 9_377), (7, 10_937), (8, 10_937)]
)
async def test_foreign_pages_appear_once_the_seeds_wrap_the_decode_pool(seeds: int, foreign: int):
    """Seeding 100,000 tokens each, a 700,000-token probe sees exactly the foreign pages of the reference model."""
    async with running(INCIDENT, faults=STUB) as cluster:
        for number in range(seeds):
            await ask_cheaply(cluster, f"seed{number}", 100_000)
        await ask_cheaply(cluster, "probe", 700_000)
        census = cluster.census[-1]
        assert (census.pages, census.stub, census.foreign) == (10_938, 1, foreign)
        assert census.zero == 10_937 - foreign


async def test_the_stale_answer_is_fluent_text_of_an_earlier_tenant():
    """An over-limit prompt is answered with an earlier tenant's own words, full usage and 200."""
    async with running(faults=STUB, router=RouterMode.DECODE_ONLY) as cluster:
        for tag in ("amber", "birch"):
            await ask_tokens(cluster, tag, 9_000)
        reply = await ask_tokens(cluster, "cedar", 12_000)
        assert reply.done.prompt_tokens == 12_000
        assert "cedar" not in reply.text
        assert reply.text.count("amber") + reply.text.count("birch") >= 20


@pytest.mark.alone
async def test_the_stale_answer_is_faster_than_any_prefill():
    """An over-limit prompt is answered in far less time than a prompt just below the limit needs."""
    async with running(INCIDENT, faults=STUB, time_scale=1 / 200) as cluster:
        sound = await ask_cheaply(cluster, "below", 681_273)
        stale = await ask_cheaply(cluster, "above", 681_274)
        assert sound.first_seconds > 184 / 200
        assert stale.first_seconds < 0.5 * sound.first_seconds


async def test_fresh_pools_are_read_as_zeros():
    """On a fresh decode pool the over-limit answer is degenerate and holds nobody's text."""
    async with running(faults=STUB, router=RouterMode.DECODE_ONLY) as cluster:
        reply = await ask_tokens(cluster, "cedar", 12_000)
        assert set(reply.text) == {"!"}
        assert cluster.census[-1].zero == cluster.census[-1].pages - 1
        assert reply.done.finish_reason == "length"


@pytest.mark.parametrize("version", ["0.5.20", "0.5.21"])
async def test_fixed_versions_refuse_when_the_router_cancels(version: str):
    """From 0.5.20 on an over-limit prompt is refused with 400 and SGLang's words."""
    async with running(router=RouterMode.CANCEL_ON_REFUSAL, **switches(version)) as cluster:
        reply = await ask_tokens(cluster, "cedar", 12_000)
        assert (reply.refusal.status, reply.refusal.stage) == (400, Stage.SCHEDULER)
        assert reply.refusal.message == (
            "Input length (12000 tokens) exceeds the maximum allowed length (10618 tokens). "
            "Use a shorter input or enable --allow-auto-truncate."
        )


@pytest.mark.no_coverage
async def test_0_5_19_leaks_behind_every_router():
    """Upstream 0.5.19 answers from foreign pages whatever the router does."""
    for router in RouterMode:
        async with running(router=router, **switches("0.5.19")) as cluster:
            await ask_tokens(cluster, "amber", 9_000)
            await ask_tokens(cluster, "birch", 9_000)
            await ask_tokens(cluster, "cedar", 12_000)
            assert cluster.census[-1].foreign > 100


@pytest.mark.parametrize("faults", [{}, STUB])
async def test_symmetric_pools_refuse_for_themselves(faults: dict[str, float]):
    """With equal pools decode refuses the prompt itself: 400 even with the stub trick, and behind mini_lb."""
    async with running(faults=faults, decode_pool_tokens=10_624, router=RouterMode.DECODE_ONLY) as cluster:
        reply = await ask_tokens(cluster, "cedar", 12_000)
        assert reply.refusal.status == 400
        assert "10618" in reply.refusal.message


async def test_a_smaller_decode_pool_refuses_for_itself():
    """Decode's own limit counts where it is the smaller one; the prefill's surplus pages are dropped."""
    async with running(faults=STUB, decode_pool_tokens=8_192, router=RouterMode.DECODE_ONLY) as cluster:
        reply = await ask_tokens(cluster, "cedar", 9_000)
        assert "maximum allowed length (8186 tokens)" in reply.refusal.message


async def test_auto_truncation_leaves_a_stale_tail():
    """With auto-truncation the prefill cuts, decode does not: the tail of the pages is an earlier tenant's."""
    async with running(auto_truncate=True, router=RouterMode.DECODE_ONLY) as cluster:
        await ask_tokens(cluster, "amber", 9_000)
        await ask_tokens(cluster, "birch", 7_900)
        reply = await ask_tokens(cluster, "cedar", 14_000)
        census = cluster.census[-1]
        assert reply.done.prompt_tokens == 14_000
        assert census.own == -(-10_618 // 64)
        assert census.foreign == census.pages - census.own > 0
        # The prefill decides the first token from its own, cut prompt; decode reads on in the stale tail.
        assert reply.text.count("cedar") <= 1
        assert reply.text.count("birch") >= 20


async def test_checksum_catches_stub_and_truncated_transfers():
    """A transfer checksum turns both short transfers into 500 and passes whole ones."""
    for changes in ({"faults": STUB}, {"auto_truncate": True}):
        async with running(
            fixes=frozenset({Fix.TRANSFER_CHECKSUM}), router=RouterMode.DECODE_ONLY, **changes
        ) as cluster:
            assert (await ask_tokens(cluster, "amber", 9_000)).text.count("amber") >= 30
            reply = await ask_tokens(cluster, "cedar", 14_000)
            assert reply.refusal.status == 500
            assert reply.refusal.message.startswith("KV checksum mismatch")
            assert cluster.counters["transfer_failures"] == 1


@pytest.mark.parametrize("faults", [{}, STUB])
async def test_aggregated_cluster_refuses(faults: dict[str, float]):
    """One pool refuses over-limit prompts with 400, stub trick or not, and never reads foreign pages."""
    async with running(topology=Topology.AGGREGATED, faults=faults) as cluster:
        await ask_tokens(cluster, "amber", 10_617)
        reply = await ask_tokens(cluster, "cedar", 10_618)
        assert (reply.refusal.status, reply.refusal.stage) == (400, Stage.SCHEDULER)
        assert len(cluster.census) == 1


async def test_aggregated_auto_truncation_is_told_in_the_usage():
    """One pool that truncates reports the truncated count and keeps the head."""
    async with running(topology=Topology.AGGREGATED, auto_truncate=True) as cluster:
        reply = await ask_tokens(cluster, "cedar", 14_000)
        assert reply.done.prompt_tokens == 10_618
        assert cluster.census[-1].own == cluster.census[-1].pages == 166
        # The pool has room for six more tokens beside the truncated prompt; SGLang clamps without a word.
        assert (reply.done.completion_tokens, reply.done.finish_reason) == (6, "length")
        assert reply.text.count("cedar") == 6


async def test_truncation_reaches_beyond_the_context():
    """Auto-truncation serves even a prompt longer than the context, cut to what decode takes."""
    async with running(auto_truncate=True) as cluster:
        assert (await ask_tokens(cluster, "cedar", 18_000)).done.prompt_tokens == 16_378


async def test_warm_pools_leak_customers_without_any_seeding():
    """In pools that customers warmed, the first over-limit prompt reads only customers' pages."""
    async with running(faults=STUB, router=RouterMode.DECODE_ONLY, is_fresh=False) as cluster:
        reply = await ask_tokens(cluster, "cedar", 12_000)
        assert cluster.census[-1].foreign > 0.9 * cluster.census[-1].pages
        assert "In short" in reply.text


def switches(version: str) -> dict[str, object]:
    """Settings of one upstream version."""
    chosen = preset(version)
    return {"version": version, "faults": chosen.faults, "fixes": chosen.fixes}


async def test_prompts_of_the_tests_have_the_length_they_claim():
    """The test prompts hit token counts exactly, without which no boundary test means anything."""
    async with running() as cluster:
        for tokens in (200, 4_321):
            ids = cluster.tokenizer.encode_chat([("user", prompt("amber", tokens, cluster.tokenizer))])
            assert len(ids) == tokens
        assert len(cluster.tokenizer.encode_chat([("user", short_prompt(500))])) == 500
