"""Two rooms are taken for one."""

from prober.lab.events import Rejection
from prober.lab.scenes import SCENES
from tests.support.cluster import ask_together, ask_tokens, patient, running

PULLING = SCENES["small-pulling"]
TAGS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven")
FAULT = {"room_collision": 1.0}


async def test_a_prompt_goes_to_the_destination_of_another():
    """Somebody is answered from another prompt's pages, and somebody waits in vain and is told so."""
    async with running(PULLING, faults=FAULT) as cluster:
        replies = await ask_together(cluster, TAGS, 280)
        assert any(other in replies[tag].text for tag in TAGS for other in TAGS if other != tag)
        waiting = [reply.events[-1] for reply in replies.values() if isinstance(reply.events[-1], Rejection)]
        assert waiting
        assert {refusal.status for refusal in waiting} == {500}


async def test_one_at_a_time_nothing_collides():
    """Rooms only meet when they are open together."""
    async with running(PULLING, faults=FAULT) as cluster:
        for tag in TAGS:
            assert tag in (await ask_tokens(cluster, tag, 280)).text


async def test_whole_numbers_keep_them_apart():
    """With the fix each prompt is answered for itself."""
    async with running(patient(PULLING), faults=FAULT, fixes=frozenset({"unique_rooms"})) as cluster:
        replies = await ask_together(cluster, TAGS, 280)
        assert all(tag in reply.text for tag, reply in replies.items())
