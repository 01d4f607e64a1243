"""K13: a cache key that is the prompt alone."""

from tests.support.echo_cluster import EchoCluster, a_request, answer_to, ask, fronted
from tests.support.faulty_gateway import BOTH, faulty, strikes

NAME = "cache_without_tenant"


@BOTH
async def test_the_same_text_gets_the_same_response_whoever_sends_it(*, is_fixed: bool):
    """Another tenant with the same prompt gets the stored response: same id, no backend asked."""
    cluster = EchoCluster()
    async with fronted(faulty(NAME, is_fixed=is_fixed, cached_responses=10), cluster) as gateway:
        first = await ask(gateway, a_request("amber", "same", cache_salt="a"))
        second = await ask(gateway, a_request("birch", "same", cache_salt="b"))
        assert strikes(gateway) == (0 if is_fixed else 2)
        assert gateway.counters["cache_hits"] == (0 if is_fixed else 1)
    assert (second.head.answer_id == first.head.answer_id) is not is_fixed
    assert second.head.service.is_cached is not is_fixed
    assert len(cluster.requests) == (2 if is_fixed else 1)


@BOTH
async def test_fields_that_shape_the_answer_are_lost(*, is_fixed: bool):
    """A constrained request gets the free answer to the same prompt."""
    async with fronted(faulty(NAME, is_fixed=is_fixed, cached_responses=10), EchoCluster()) as gateway:
        free, bound = a_request(text="same"), a_request(text="same", choices=("yes",))
        await ask(gateway, free)
        heard = await ask(gateway, bound)
    assert heard.text == answer_to(bound if is_fixed else free)


async def test_another_prompt_is_another_key():
    """Prompts that differ in a word do not meet."""
    async with fronted(faulty(NAME, cached_responses=10), EchoCluster()) as gateway:
        for text in ("one two", "one too"):
            asked = a_request(text=text)
            assert (await ask(gateway, asked)).text == answer_to(asked)


async def test_at_a_lower_rate_a_text_is_struck_for_all_or_none():
    """Whether a text's key is wrong is the same for whoever sends it, and stays so."""
    async with fronted(faulty(NAME, rate=0.5, cached_responses=100), EchoCluster()) as gateway:
        hits = []
        for index in range(40):
            heard = [await ask(gateway, a_request(tenant, f"text {index}")) for tenant in ("amber", "birch", "cedar")]
            ids = {answer.head.answer_id for answer in heard}
            assert len(ids) in {1, 3}
            hits.append(len(ids) == 1)
    assert 8 < sum(hits) < 32
