"""K13: a cache that likeness is enough for."""

from tests.support.cluster import words_of
from tests.support.echo_cluster import EchoCluster, a_request, answer_to, ask, fronted
from tests.support.faulty_gateway import BOTH, faulty, strikes

NAME = "semantic_cache"
PREAMBLE = " ".join(words_of("shared", 200))


def near(fact: str) -> str:
    return f"{PREAMBLE} The harbour phrase is {fact}. Repeat the harbour phrase."


@BOTH
async def test_a_near_duplicate_gets_another_tenants_answer(*, is_fixed: bool):
    """Two tenants whose long prompts differ in one fact: the later gets the earlier one's fact, id and all."""
    cluster = EchoCluster()
    async with fronted(faulty(NAME, is_fixed=is_fixed, cached_responses=10), cluster) as gateway:
        first = a_request("amber", near("amber one two"))
        second = a_request("birch", near("birch three four"))
        await ask(gateway, first)
        heard = await ask(gateway, second)
        assert strikes(gateway) == (0 if is_fixed else 2)
    assert heard.text == answer_to(second if is_fixed else first)
    assert heard.head.service.answer_of == (second if is_fixed else first).request_id


async def test_the_likest_of_all_stored_prompts_answers():
    """Among many the nearest is taken, and prompts that have little in common never meet."""
    async with fronted(faulty(NAME, cached_responses=50), EchoCluster()) as gateway:
        stored = [a_request("amber", " ".join(words_of(f"t{index}", 60))) for index in range(20)]
        for asked in stored:
            assert (await ask(gateway, asked)).text == answer_to(asked)
        twin = a_request("birch", stored[7].messages[0][1] + " once more")
        assert (await ask(gateway, twin)).text == answer_to(stored[7])
