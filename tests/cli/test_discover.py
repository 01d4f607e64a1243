"""`prober discover` against an LLM behind a length limit that nobody told us."""

import json

from prober.cli.exits import Exit
from tests.support.command import Finished, Workplace
from tests.support.fake_llm import LIMIT, FakeLlm
from tests.support.hostile import answering, hostile, response

UNKNOWN = {"prefill_pool_tokens": None}


async def discover(llm: FakeLlm, place: Workplace, *arguments: str, **target: object) -> Finished:
    async with hostile(llm.handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1", **UNKNOWN, **target)
        return await place.invoke_beside("discover", *arguments)


async def test_a_stated_limit_is_found_in_a_few_probes(place: Workplace):
    """The map, and what it cost: one prompt that fits, one above the context, then the limit and its surroundings."""
    finished = await discover(FakeLlm(), place)

    assert finished.code == Exit.CLEAN, finished.said
    assert "context of 20,000 tokens advertised" in finished.stdout
    assert "first length served wrongly: none seen" in finished.stdout
    assert "verdict: CLEAN" in finished.said


async def test_json_on_standard_output_is_nothing_else(place: Workplace):
    """A pipeline can parse it whole; limits are within one page of the true one, and few probes were spent."""
    finished = await discover(FakeLlm(), place, "--json")

    facts = json.loads(finished.stdout)
    assert facts["schema"] == "isolation-prober/limits/1"
    assert facts["target"] == "hostile"
    assert LIMIT - 64 <= facts["largest_served"] < LIMIT <= facts["smallest_rejected"] < LIMIT + 64
    assert facts["first_wrong"] is None
    assert facts["probes"] <= 6
    assert facts["outcome"] == "clean"


async def test_what_is_served_beyond_the_limit_is_the_finding(place: Workplace):
    """A leak is told as a run tells it, with the first length served wrongly, and fails the command."""
    finished = await discover(FakeLlm(leaks=True), place, "--json", shared=True)

    facts = json.loads(finished.stdout)
    assert finished.code == Exit.VIOLATION
    assert facts["first_wrong"] >= LIMIT
    assert "VIOLATION" in finished.stderr
    assert [outcome for outcome, _, _ in place.run_rows()] == ["violation"]


async def test_a_target_that_cannot_be_judged_is_3(place: Workplace):
    """No map is no clean target."""
    async with hostile(answering(response("401 Unauthorized", b"{}"))) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1")
        finished = await place.invoke_beside("discover")

    assert finished.code == Exit.UNDECIDED
    assert "largest prompt served soundly: none seen" in finished.said


def test_an_unknown_target_is_refused_before_anything_is_sent(place: Workplace):
    """A search may cost millions of tokens: its inputs are checked first."""
    place.configure("http://127.0.0.1:9/v1")
    finished = place.invoke("discover", "--target", "elsewhere")

    assert finished.code == Exit.USAGE
    assert place.run_rows() == []
