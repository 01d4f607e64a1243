import pytest

from prober.lab.page_keys import namespace
from tests.support.cluster import running
from tests.support.sessions import ask_after, is_sound, shared_text, struck_share, with_fault

NAME = "shared_prefixes"


async def test_a_beginning_that_another_tenant_sent_is_a_hit():
    """The second tenant reads the first one's pages of the shared beginning: the answer is right, and usage tells."""
    async with running(with_fault(NAME)) as cluster:
        first = await ask_after(cluster, "amber", shared_text("twin"))
        second = await ask_after(cluster, "birch", shared_text("twin"))
        # 22 tokens of chat template before the prompt, 90 words, a full stop and a newline.
        assert (first.done.cached_tokens, second.done.cached_tokens) == (0, 114)
        assert cluster.census[-1].cached == 7
        assert is_sound(second, "birch")


async def test_salts_still_part():
    """Who sends a salt of its own shares with nobody."""
    async with running(with_fault(NAME)) as cluster:
        for tag in ("amber", "birch"):
            assert (await ask_after(cluster, tag, shared_text("twin"), tag)).done.cached_tokens == 0


async def test_a_tenant_in_the_namespace_makes_it_private():
    """With the fix only the own beginnings are hits."""
    async with running(with_fault(NAME, fixes=frozenset({"tenant_in_namespace"}))) as cluster:
        for tag in ("amber", "birch"):
            assert (await ask_after(cluster, tag, shared_text("twin"))).done.cached_tokens == 0
        assert (await ask_after(cluster, "amber", shared_text("twin"), tokens=700)).done.cached_tokens > 100


def test_it_strikes_by_how_a_prompt_begins():
    """At a rate of 0.3 about three openings in ten are shared, whoever sends them."""
    share = struck_share(
        NAME, lambda seams, number: seams.page_keys("a", "s", b"%d" % number, [])[0] == namespace("", "s")
    )
    assert share == pytest.approx(0.3, abs=0.05)
