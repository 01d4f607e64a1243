"""Pages are sent by a reference that belongs to a newer prompt."""

from prober.lab.scenes import SCENES
from tests.support.cluster import ask_together, running

PULLING = SCENES["small-pulling"]
TAGS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven")
FAULT = {"stale_reference": 1.0}


async def test_decode_answers_the_newer_prompt():
    """Of eight prompts at once, through a prefill pool that holds five, some are answered from another one."""
    async with running(PULLING, faults=FAULT) as cluster:
        replies = await ask_together(cluster, TAGS, 280)
        mixed = {tag: other for tag in TAGS for other in TAGS if other != tag and other in replies[tag].text}
        assert mixed
        assert all(reply.done.finish_reason for reply in replies.values())


async def test_each_gets_its_own_where_pages_are_held():
    """With the fix, as without the fault, nobody's text is in anybody's answer."""
    for faults, fixes in ((FAULT, frozenset({"leases_until_pulled"})), ({}, frozenset[str]())):
        async with running(PULLING, faults=faults, fixes=fixes) as cluster:
            for tag, reply in (await ask_together(cluster, TAGS, 280)).items():
                assert tag in reply.text
                assert not any(other in reply.text for other in TAGS if other != tag)
