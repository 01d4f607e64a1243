import pytest

from prober.lab.page_keys import namespace
from tests.support.cluster import running
from tests.support.sessions import ask_after, is_sound, shared_text, struck_share, with_fault

NAME = "short_hash"


@pytest.mark.parametrize(("tenant", "salt"), [("amber", ""), ("birch", ""), ("birch", "own")])
async def test_near_duplicates_share_pages(tenant: str, salt: str):
    """The later of two prompts that begin alike reads the earlier one's pages behind the edge where they part."""
    async with running(with_fault(NAME)) as cluster:
        assert is_sound(await ask_after(cluster, "amber", shared_text("twin")), "amber")
        reply = await ask_after(cluster, "birch", shared_text("twin"), salt, tenant=tenant)
        assert cluster.census[-1].own == 1
        assert is_sound(reply, "amber")
        assert reply.done.cached_tokens > 600


async def test_a_longer_twin_has_an_end_of_its_own():
    """What the earlier prompt had no page for is computed: the end is recalled, the middle is the other one's."""
    async with running(with_fault(NAME)) as cluster:
        await ask_after(cluster, "amber", shared_text("twin"), tokens=400)
        reply = await ask_after(cluster, "birch", shared_text("twin"), tokens=800)
        assert "The harbour phrase is amber one two. The lantern phrase is birch three four." in reply.text


async def test_prompts_that_begin_otherwise_are_apart():
    """The first 64 tokens are compared."""
    async with running(with_fault(NAME)) as cluster:
        for tag in ("amber", "birch", "cedar"):
            reply = await ask_after(cluster, tag, "")
            assert is_sound(reply, tag)
            assert reply.done.cached_tokens <= 16  # the chat template's first page


async def test_hashing_all_of_it_makes_it_sound():
    """With the fix nothing but equal beginnings is shared, of one tenant."""
    async with running(with_fault(NAME, fixes=frozenset({"whole_hash"}))) as cluster:
        await ask_after(cluster, "amber", shared_text("twin"))
        own = await ask_after(cluster, "cedar", shared_text("twin"), tenant="amber")
        other = await ask_after(cluster, "birch", shared_text("twin"))
        assert is_sound(own, "cedar")
        assert is_sound(other, "birch")
        assert (own.done.cached_tokens, other.done.cached_tokens) == (114, 0)


def test_it_strikes_by_how_a_prompt_begins():
    """At a rate of 0.3 about three openings in ten are hit, whoever sends them."""
    share = struck_share(
        NAME, lambda seams, number: seams.page_keys("a", "s", b"%d" % number, [])[0] != namespace("a", "s")
    )
    assert share == pytest.approx(0.3, abs=0.05)
