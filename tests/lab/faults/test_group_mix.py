"""K15: groups mixed up by raw names."""

import collections

from tests.support.echo_cluster import EchoCluster, a_request, ask, fronted
from tests.support.faulty_gateway import BOTH, faulty, strikes

NAME = "model_group_mix"


@BOTH
async def test_another_groups_llm_answers_under_the_name_asked_for(*, is_fixed: bool):
    """Requests go round over the backends of all groups; the answer's name does not tell."""
    async with fronted(faulty(NAME, is_fixed=is_fixed, others=1), EchoCluster(), EchoCluster()) as gateway:
        heard = [await ask(gateway, a_request(model="lab-llm")) for _ in range(10)]
        assert strikes(gateway) == (0 if is_fixed else 10)
    served = collections.Counter(answer.head.service.backend for answer in heard)
    assert served == ({"lab-llm/0": 10} if is_fixed else {"lab-llm/0": 5, "other-0/0": 5})
    assert {answer.head.model for answer in heard} == {""}


async def test_a_session_that_went_astray_stays_there():
    """A home that was found through the wrong look-up is kept."""
    async with fronted(faulty(NAME, others=1), EchoCluster(), EchoCluster()) as gateway:
        for index in range(4):
            served = {(await ask(gateway, a_request(session=f"s{index}"))).head.service.backend for _ in range(3)}
            assert len(served) == 1


async def test_one_group_alone_cannot_be_mixed():
    """Without another group the look-up finds the right one, and does not count as wrong."""
    async with fronted(faulty(NAME), EchoCluster()) as gateway:
        await ask(gateway, a_request())
        assert strikes(gateway) == 0
