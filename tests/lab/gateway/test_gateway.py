"""The whole gateway: whatever clients do, each gets its own answer."""

import asyncio
import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.errors import LabError
from prober.lab.events import Chunk, Done, Rejection
from prober.lab.gateway.gateway import Gateway
from prober.lab.gateway_settings import GatewaySettings
from prober.lab.settings import LabSettings
from tests.support.cluster import SMALL
from tests.support.cluster import prompt as prompt_of
from tests.support.echo_cluster import EchoCluster, a_request, answer_to, ask, ask_all, fronted, hang_up

OTHER = dataclasses.replace(SMALL, model="other-llm")


def in_front(backends: int = 1, others: int = 0, **gateway: object) -> LabSettings:
    groups = tuple(dataclasses.replace(SMALL, model=f"other-{index}") for index in range(others))
    return dataclasses.replace(SMALL, backends=backends, other_groups=groups, gateway=GatewaySettings(**gateway))


@dataclasses.dataclass(frozen=True)
class Visit:
    """What one client of a crowd does."""

    tenant: str
    text: str
    client_id: str
    session: str
    choices: tuple[str, ...]
    arrives: int
    """Turns of the event loop after the first."""
    patience: int | None
    """Turns until it hangs up; None: never."""
    takes: int
    """Turns that its answer takes per word."""


VISITS = st.lists(
    st.builds(
        Visit,
        tenant=st.sampled_from(["amber", "birch"]),
        text=st.sampled_from(["one", "two", "three", "refuse 400", "refuse 500"]),
        client_id=st.sampled_from(["", "same", "other"]),
        session=st.sampled_from(["", "s1", "s2"]),
        choices=st.sampled_from([(), ("yes", "no")]),
        arrives=st.integers(0, 30),
        patience=st.none() | st.integers(0, 25),
        takes=st.integers(0, 6),
    ),
    min_size=1,
    max_size=12,
)
SETTINGS = st.builds(
    in_front,
    backends=st.integers(1, 3),
    others=st.integers(0, 1),
    cached_responses=st.sampled_from([0, 2, 100]),
    pooled_credential=st.booleans(),
    salts_tenants=st.booleans(),
    retries=st.integers(0, 2),
    falls_back=st.booleans(),
    loss_rate=st.sampled_from([0.0, 0.3]),
    connection_uses=st.sampled_from([1, 3, 1_000]),
    tick_seconds=st.sampled_from([0.0, 3.0]),
)


@pytest.mark.no_coverage
@settings(max_examples=120, derandomize=True)
@given(visits=VISITS, lab=SETTINGS)
def test_a_healthy_gateway_never_mixes(visits: list[Visit], lab: LabSettings):
    """Under any interleaving of requests, hang-ups, losses and cache hits, each client gets its own answer or none."""
    asyncio.run(crowd(visits, lab))


async def crowd(visits: list[Visit], lab: LabSettings) -> None:
    takes = {}
    clusters = [EchoCluster(lambda request: takes[request.request_id]) for _ in range(4)]
    async with asyncio.timeout(20), fronted(lab, *clusters[: lab.backends + len(lab.other_groups)]) as gateway:
        async with asyncio.TaskGroup() as group:
            for visit in visits:
                group.create_task(attend(gateway, visit, takes))
        assert not gateway._mailboxes._open
        assert all(backend.in_flight == 0 for backend in gateway.backends)
    assert not any(cluster.is_running for cluster in clusters)


async def attend(gateway: Gateway, visit: Visit, takes: dict[str, int]) -> None:
    asked = a_request(visit.tenant, visit.text, client_id=visit.client_id, session=visit.session, choices=visit.choices)
    takes[asked.request_id] = visit.takes
    for _turn in range(visit.arrives):
        await asyncio.sleep(0)
    if visit.patience is not None:
        await hang_up(gateway, asked, visit.patience)
        return
    heard = await ask(gateway, asked)
    if isinstance(heard.last, Rejection):
        assert heard.last.status in ({502, int(visit.text.split()[1])} if visit.text.startswith("refuse") else {502})
        assert heard.text == ""
        return
    assert isinstance(heard.last, Done)
    assert heard.text == answer_to(asked)
    assert heard.head.service.is_cached or heard.head.answer_id == asked.request_id
    assert heard.head.service.answer_of == heard.head.answer_id


async def test_nothing_switched_on_changes_nothing():
    """With one backend and plain settings the cluster gets the very request, and its events come through as said."""
    cluster = EchoCluster()
    asked = a_request(session="s", client_id="c", cache_salt="x")
    async with fronted(in_front(), cluster) as gateway:
        heard = await ask(gateway, asked)
    assert cluster.requests == [asked]
    assert heard.head.answer_id == asked.request_id
    assert (heard.head.model, heard.head.headers) == ("", {})
    assert heard.events[1:] == (
        Chunk(content="hello "),
        Chunk(content="() "),
        Done(finish_reason="stop", prompt_tokens=5, completion_tokens=2),
    )


async def test_a_hang_up_reaches_the_cluster():
    """A client that goes aborts its generation, and the connection with it."""
    cluster = EchoCluster(lambda _request: 1_000)
    asked = a_request()
    async with fronted(in_front(), cluster) as gateway:
        await hang_up(gateway, asked, 50)
        assert cluster.aborted == [asked.request_id]
        assert gateway.counters["connections_discarded"] == 1


async def test_pooled_tenants_are_one_to_the_backends():
    """Under the gateway's own credential backends see a single tenant, and the client's salt as it was sent."""
    cluster = EchoCluster()
    async with fronted(in_front(pooled_credential=True), cluster) as gateway:
        await ask_all(gateway, a_request("amber", cache_salt="x"), a_request("birch"))
    assert {request.tenant for request in cluster.requests} == {"gateway"}
    assert [request.cache_salt for request in cluster.requests] == ["x", ""]


async def test_salted_tenants_stay_apart_behind_one_credential():
    """A salt made of tenant and own salt keeps prefix caches apart, whatever the two look like side by side."""
    cluster = EchoCluster()
    async with fronted(in_front(pooled_credential=True, salts_tenants=True), cluster) as gateway:
        for tenant, salt in (("a", "bc"), ("ab", "c"), ("a", ""), ("a", "bc")):
            await ask(gateway, a_request(tenant, cache_salt=salt))
    salts = [request.cache_salt for request in cluster.requests]
    assert len(set(salts)) == 3
    assert salts[0] == salts[3]


async def test_a_cached_response_repeats_its_id():
    """The same request of the same tenant gets the stored response with its id, marked as stored; nobody else does."""
    cluster = EchoCluster()
    async with fronted(in_front(cached_responses=10), cluster) as gateway:
        first, again = [await ask(gateway, a_request()) for _ in range(2)]
        others = await ask_all(gateway, a_request("birch"), a_request(choices=("x",)), a_request(cache_salt="x"))
        assert gateway.counters["cache_hits"] == 1
    assert again.head.answer_id == first.head.answer_id
    assert again.head.headers == {"x-litellm-cache-key": first.head.answer_id}
    assert again.events[1:] == first.events[1:]
    assert len({heard.head.answer_id for heard in (first, *others)}) == 4
    assert not any(heard.head.headers for heard in (first, *others))


async def test_a_refusal_is_not_cached():
    """What was refused once may be served the next time."""
    cluster = EchoCluster()
    async with fronted(in_front(cached_responses=10), cluster) as gateway:
        for _ in range(2):
            await ask(gateway, a_request(text="refuse 500"))
    assert len(cluster.requests) == 2


async def test_restarting_replaces_every_cluster_and_goes_on_counting():
    """After a rollout all clusters are new ones, answers in flight have broken off, and counters went on."""
    clusters = [EchoCluster(lambda _request: 1_000) for _ in range(2)]
    async with fronted(in_front(backends=2), *clusters) as gateway:
        asking = asyncio.create_task(ask(gateway, a_request()))
        while not any(cluster.requests for cluster in clusters):  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0)
        assert await gateway.restart() == 2
        heard = await asking
        assert [cluster.starts for cluster in clusters] == [2, 2]
        assert sum(len(cluster.aborted) for cluster in clusters) == 1
        assert gateway.facts()["gateway"]["restarts"] == 2
        # The stand-ins keep their own count, which is then there once more.
        assert gateway.facts()["counters"]["requests"] == 2
    assert heard.last.status == 502


async def test_a_request_waits_for_a_backend_that_restarts():
    """A rollout delays requests; it does not fail them."""
    async with fronted(SMALL) as gateway:
        backend = gateway.backends[0]
        backend.is_ready.clear()
        asking = asyncio.create_task(ask(gateway, a_request()))
        await asyncio.sleep(0.05)
        assert not asking.done()
        backend.is_ready.set()
        assert isinstance((await asking).last, Done)


async def test_a_rollout_keeps_the_store_and_nothing_else():
    """The new process has the old one's store; its pools are new."""
    async with fronted(SMALL) as gateway:
        before = gateway.backends[0].cluster
        await gateway.restart()
        after = gateway.backends[0].cluster
        assert after is not before
        assert after.store is before.store
        assert after.pools["decode"] is not before.pools["decode"]


async def test_a_real_cluster_answers_through_the_gateway_as_alone():
    """The gateway changes no word, no count and no page of an answer."""
    async with fronted(dataclasses.replace(SMALL, backends=2)) as gateway:
        tokenizer = gateway.backends[0].cluster.tokenizer
        texts = {tag: prompt_of(tag, 1_500, tokenizer) for tag in ("amber", "birch", "cedar", "delta")}
        requests = [a_request(tag, text) for tag, text in texts.items()]
        heard = await ask_all(gateway, *[dataclasses.replace(request, max_tokens=64) for request in requests])
    for tag, answer in zip(texts, heard, strict=True):
        assert f"The harbour phrase is {tag} one two." in answer.text
        assert answer.last.prompt_tokens == 1_500
    assert {answer.head.service.backend for answer in heard} == {"lab-llm/0", "lab-llm/1"}


async def test_stopping_ends_those_who_wait():
    """Whoever waits when the lab stops is told, and nothing is left running."""
    cluster = EchoCluster(lambda _request: 10**9)
    async with fronted(in_front(), cluster) as gateway:
        asking = asyncio.create_task(ask(gateway, a_request()))
        await asyncio.sleep(0.01)
        await gateway.stop()
        with pytest.raises(LabError, match="stopped"):
            await asking
    assert cluster.aborted


async def test_a_cluster_that_cannot_start_stops_the_others():
    """A gateway starts whole or not at all."""

    class Unstartable(EchoCluster):
        async def start(self) -> None:
            raise LabError("no memory")

    sound = EchoCluster()
    with pytest.raises(LabError, match="no memory"):
        async with fronted(in_front(backends=2), sound, Unstartable()):
            pass
    assert not sound.is_running


async def test_facts_add_up_what_all_clusters_counted():
    """Counters are those of all clusters; the gateway's own stand beside them, at 0 from the start."""
    clusters = [EchoCluster(), EchoCluster()]
    async with fronted(in_front(backends=2), *clusters) as gateway:
        assert gateway.facts()["gateway"]["fallbacks"] == 0
        await ask_all(gateway, *[a_request(text=f"{index}") for index in range(4)])
        assert all(cluster.requests for cluster in clusters)
        assert gateway.facts()["counters"] == {"requests": 4}


async def test_no_two_backends_draw_alike():
    """Like backends have a seed of their own each, other groups keep their sizes and share faults and clock."""
    other = dataclasses.replace(OTHER, context_tokens=8_192, time_scale=1.0)
    lab = dataclasses.replace(SMALL, backends=2, seed=7, other_groups=(other,), faults={"unread_reply": 0.5})
    members = [backend.settings for backend in Gateway(lab).backends]
    assert [member.seed for member in members] == [7, 8, 9]
    assert [member.context_tokens for member in members] == [16_384, 16_384, 8_192]
    assert {member.time_scale for member in members} == {SMALL.time_scale}
    assert all(member.faults == {"unread_reply": 0.5} for member in members)
