import pytest

from prober.lab.page_keys import namespace
from tests.support.cluster import running
from tests.support.sessions import ask_after, is_sound, shared_text, struck_share, with_fault

NAME = "salt_dropped"


@pytest.mark.parametrize("tenant", ["amber", "birch"])
async def test_near_duplicates_with_salts_share_pages(tenant: str):
    """Of two prompts that begin alike and go on differently, the second one reads the first one's pages and answers so.

    They may be of two tenants, or of one with two salts.
    """
    async with running(with_fault(NAME)) as cluster:
        assert is_sound(await ask_after(cluster, "amber", shared_text("twin"), "one"), "amber")
        reply = await ask_after(cluster, "birch", shared_text("twin"), "two", tenant=tenant)
        assert cluster.census[-1].own == 1
        assert is_sound(reply, "amber")
        assert reply.done.cached_tokens > 600


async def test_only_salted_requests_are_hit():
    """Without a salt the keys are whole, and a prompt that begins otherwise is kept elsewhere."""
    async with running(with_fault(NAME)) as cluster:
        await ask_after(cluster, "amber", shared_text("twin"), "one")
        assert is_sound(await ask_after(cluster, "birch", shared_text("twin")), "birch")
        assert is_sound(await ask_after(cluster, "cedar", shared_text("other"), "two"), "cedar")


async def test_tenant_and_salt_in_the_key_make_it_sound():
    """With the fix both twins are answered from their own pages."""
    async with running(with_fault(NAME, fixes=frozenset({"salt_in_key"}))) as cluster:
        await ask_after(cluster, "amber", shared_text("twin"), "one")
        reply = await ask_after(cluster, "birch", shared_text("twin"), "two")
        assert is_sound(reply, "birch")
        assert reply.done.cached_tokens == 0


def test_it_strikes_by_how_a_prompt_begins():
    """At a rate of 0.3 about three openings in ten are hit, whoever sends them."""
    for tenant, salt in (("a", "one"), ("b", "two")):
        share = struck_share(
            NAME,
            lambda seams, number, whose=(tenant, salt): (
                seams.page_keys(*whose, b"%d" % number, [])[0] != namespace(*whose)
            ),
        )
        assert share == pytest.approx(0.3, abs=0.05)
