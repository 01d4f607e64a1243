import pytest

from tests.support.cluster import ask_tokens, running
from tests.support.sessions import come_back, is_sound, struck_share, with_fault

NAME = "wrong_session_restored"


async def test_a_prompt_that_comes_back_repeats_the_conversation_before_it():
    """A, X, A: the second A gets X's pages, so that its answer is X's, and usage tells of no hit."""
    async with running(with_fault(NAME)) as cluster:
        for tag in ("amber", "birch"):
            assert is_sound(await come_back(cluster, tag), tag)
        reply = await come_back(cluster, "amber")
        assert (cluster.census[-1].cached, cluster.census[-1].own) == (124, 1)
        assert is_sound(reply, "birch")
        assert (reply.done.cached_tokens, reply.done.prompt_tokens) == (0, 2_000)


async def test_a_longer_prompt_keeps_its_own_end():
    """What is longer than the foreign snapshot is computed: the end is recalled, the head is another conversation's."""
    async with running(with_fault(NAME)) as cluster:
        await come_back(cluster, "birch")
        await ask_tokens(cluster, "amber", 1_000)
        reply = await come_back(cluster, "birch")
        assert reply.text.startswith("The harbour phrase is amber one two. The lantern phrase is birch three four.\n")
        assert cluster.census[-1].cached == 62


async def test_a_prompt_again_with_nothing_between_is_sound():
    """Where the latest finished prompt is the very same, its pages are the right ones."""
    async with running(with_fault(NAME)) as cluster:
        await come_back(cluster, "amber")
        reply = await come_back(cluster, "amber")
        assert is_sound(reply, "amber")
        assert reply.done.cached_tokens == 1_999


async def test_comparing_what_is_restored_makes_it_sound():
    """With the fix only what a prompt begins with is restored."""
    async with running(with_fault(NAME, fixes=frozenset({"compare_restored_tokens"}))) as cluster:
        for tag in ("amber", "birch", "amber"):
            assert is_sound(await come_back(cluster, tag), tag)
        assert cluster.census[-1].cached == 124


def test_it_strikes_single_requests():
    """At a rate of 0.3 about three prompts in ten are given another's snapshot."""
    share = struck_share(NAME, lambda seams, number: seams.restores_unrelated(number))
    assert share == pytest.approx(0.3, abs=0.05)
