"""A failed request is written up as an answer that reached its length."""

import pytest

from prober.lab.scenes import SCENES
from tests.support.cluster import ask_tokens, running

SMALL = SCENES["small-disaggregated"]
FAULT = {"length_for_abort": 1.0}


async def test_a_refusal_looks_like_an_answer_of_no_tokens():
    """Finish reason length, not one token, no error."""
    async with running(SMALL, faults=FAULT) as cluster:
        reply = await ask_tokens(cluster, "amber", 12_000)
        assert reply.text == ""
        assert (reply.done.finish_reason, reply.done.completion_tokens) == ("length", 0)


@pytest.mark.parametrize("faults", [FAULT, {}])
async def test_served_requests_end_as_ever(faults: dict[str, float]):
    """Only failures are misreported."""
    async with running(SMALL, faults=faults) as cluster:
        assert (await ask_tokens(cluster, "amber", 500)).done.completion_tokens


async def test_the_refusal_is_told_where_endings_are_honest():
    """With the fix it is a 400."""
    async with running(SMALL, faults=FAULT, fixes=frozenset({"honest_endings"})) as cluster:
        assert (await ask_tokens(cluster, "amber", 12_000)).refusal.status == 400
