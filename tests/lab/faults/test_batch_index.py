"""K12: replies told apart by their place in a batch."""

from tests.support.echo_cluster import EchoCluster, a_request, answer_to, ask, ask_all, fronted
from tests.support.faulty_gateway import BOTH, faulty, strikes

NAME = "batch_index"


@BOTH
async def test_replies_of_one_tick_are_shifted_by_one(*, is_fixed: bool):
    """Concurrent clients each get the whole answer to the next one's prompt, with that one's id."""
    requests = [a_request(text=f"question-{index}") for index in range(4)]
    async with fronted(faulty(NAME, is_fixed=is_fixed, tick_seconds=30.0), EchoCluster()) as gateway:
        heard = await ask_all(gateway, *requests)
        assert strikes(gateway) == (0 if is_fixed else 1)
    whose = requests if is_fixed else [requests[-1], *requests[:-1]]
    assert [answer.text for answer in heard] == [answer_to(asked) for asked in whose]
    assert [answer.head.service.answer_of for answer in heard] == [asked.request_id for asked in whose]


async def test_a_reply_alone_in_its_tick_is_right():
    """Who asks alone is answered rightly, and the fault does not count as having struck."""
    async with fronted(faulty(NAME, tick_seconds=3.0), EchoCluster()) as gateway:
        for _ in range(3):
            asked = a_request()
            assert (await ask(gateway, asked)).text == answer_to(asked)
        assert strikes(gateway) == 0
