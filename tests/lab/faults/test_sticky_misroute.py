"""K15: sessions with a home elsewhere."""

import dataclasses

from prober.lab.scenes import SCENES
from tests.support.cluster import prompt
from tests.support.echo_cluster import EchoCluster, a_request, ask, fronted
from tests.support.faulty_gateway import BOTH, faulty, strikes

NAME = "sticky_misroute"


@BOTH
async def test_some_sessions_live_with_another_group_for_ever(*, is_fixed: bool):
    """A third of the sessions has its home at the one backend of another group, and stays there."""
    clusters = [EchoCluster() for _ in range(3)]
    async with fronted(faulty(NAME, is_fixed=is_fixed, backends=2, others=1), *clusters) as gateway:
        homes = [
            {(await ask(gateway, a_request(session=f"s{index}"))).head.service.backend for _ in range(3)}
            for index in range(9)
        ]
        assert strikes(gateway) == (0 if is_fixed else 9)
    assert all(len(home) == 1 for home in homes)
    assert sum(home == {"other-0/0"} for home in homes) == (0 if is_fixed else 3)


async def test_requests_without_a_session_are_served_at_home():
    """Only homes go wrong: who has no session meets the right group."""
    async with fronted(faulty(NAME, others=1), EchoCluster(), EchoCluster()) as gateway:
        served = {(await ask(gateway, a_request(tenant))).head.service.backend for tenant in "abcdefgh"}
        assert strikes(gateway) == 0
    assert served == {"lab-llm/0"}


async def test_at_a_low_rate_few_sessions_are_struck():
    """The rate is the share of sessions, and a session is struck for good or not at all."""
    async with fronted(faulty(NAME, rate=0.1, others=1), EchoCluster(), EchoCluster()) as gateway:
        served = [(await ask(gateway, a_request(session=f"s{n}"))).head.service.backend for n in range(200)]
    assert 8 <= served.count("other-0/0") <= 36  # 20 expected, standard deviation 4.2


async def test_a_misrouted_session_meets_another_llm():
    """Same text, other token count, other fingerprint, worse answers, another context: under the name asked for."""
    lab = dataclasses.replace(SCENES["gateway-groups"], faults={NAME: 1.0})
    async with fronted(lab) as gateway:
        tokenizer = gateway.backends[0].cluster.tokenizer
        answers = {}
        for index in range(3):
            asked = a_request(text=prompt("amber", 1_000, tokenizer), session=f"s{index}")
            heard = await ask(gateway, dataclasses.replace(asked, max_tokens=64))
            answers[heard.head.service.backend] = heard
        too_long = a_request(text=prompt("birch", 5_000, tokenizer), session="s2")
        refused = await ask(gateway, too_long)
    right, strayed = answers["lab-llm/0"], answers["lab-llm-lite/0"]
    assert answers["lab-llm/1"].head.fingerprint == right.head.fingerprint != strayed.head.fingerprint
    assert right.last.prompt_tokens == 1_000 != strayed.last.prompt_tokens
    assert right.text != strayed.text
    assert strayed.head.model == ""
    assert refused.last.status == 400
