"""What requests and answers may hold beside prompt and text, on every route."""

import asyncio
from typing import Any

import pytest

from prober.lab.events import Chunk, Done, FrontEvent, GenerateRequest, Head, Service, Severed, TokenLogprob
from prober.lab.server import LabServer
from prober.lab.settings import LabSettings, Topology
from tests.support.lab_clients import KEYS, bearer, chat_body, frames, post
from tests.support.scripted_cluster import ANSWER, ScriptedCluster, Step

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"
NATIVE = "/client/v4/accounts/x/ai/run/lab-llm"
COMPATIBLE = "/client/v4/accounts/x/ai/v1/chat/completions"
ROUTES = [CHAT, COMPLETIONS, NATIVE, COMPATIBLE]

TOKENS = (
    Chunk(content="red", logprobs=(TokenLogprob(text="red", logprob=-0.5),)),
    Chunk(
        content=" fox jumps",
        logprobs=(TokenLogprob(text=" fox", logprob=0.0), TokenLogprob(text=" jumps", logprob=-1.0)),
    ),
)
SPOKEN = (*TOKENS, Done(finish_reason="stop", prompt_tokens=3, completion_tokens=3, cached_tokens=0))


def lab(script: tuple[Step, ...] = ANSWER) -> LabServer:
    return LabServer(LabSettings(keys=KEYS), cluster=ScriptedCluster(script))


def body(**fields: object) -> dict[str, object]:
    return {**chat_body(), "prompt": "Say red fox.", **fields}


def choice_schema(*choices: object) -> dict[str, object]:
    return {
        "type": "json_schema",
        "json_schema": {"name": "choice", "schema": {"type": "string", "enum": list(choices)}},
    }


@pytest.mark.parametrize("path", ROUTES)
async def test_identity_and_options_reach_the_cluster(path: str):
    """Ids, session, salt, constraint, bias and log probabilities arrive as they were sent, on each route."""
    cluster = ScriptedCluster()
    fields = {
        "cache_salt": "pepper",
        "response_format": choice_schema("yes", "no"),
        "logit_bias": {"42": 100},
        "thinking_token_budget": 13,
        "logprobs": True,
    }
    headers = {**bearer("key-of-b"), "X-Request-Id": "mine", "X-Session-Affinity": "s1"}
    async with LabServer(LabSettings(keys=KEYS), cluster=cluster) as server:
        response = await post(server.base_url + path, body(**fields), headers)
        [record] = server.records.facts()
    assert response.status_code == 200
    [request] = cluster.requests
    assert (request.tenant, request.client_id, request.session) == ("tenant-b", "mine", "s1")
    assert (request.cache_salt, request.choices, request.favoured_token) == ("pepper", ("yes", "no"), 42)
    assert request.reasoning_budget == 13
    assert (request.wants_logprobs, request.late_error, request.model) == (True, "", "lab-llm")
    assert record["unique_id"] == request.request_id != "mine"


MALFORMED: dict[str, dict[str, object]] = {
    "no messages": {"messages": [], "prompt": None},
    "unknown role": {"messages": [{"role": "wizard", "content": "x"}], "prompt": 3},
    "unknown part": {"messages": [{"role": "user", "content": [{"type": "rune"}]}], "prompt": [1]},
    "negative max_tokens": {"max_tokens": -1},
    "temperature": {"temperature": 7},
    "top_p": {"top_p": -0.5},
    "logit_bias": {"logit_bias": {"one": "many"}},
    "cache_salt": {"cache_salt": ""},
    "logprobs": {"logprobs": "all"},
    "no schema": {"response_format": {"type": "json_schema"}},
}


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("is_stream", [True, False])
async def test_a_malformed_request_is_refused_at_the_door(path: str, *, is_stream: bool):
    """Every documented malformation is a 400 with words, streamed or not, and the cluster never hears of it."""
    cluster = ScriptedCluster()
    async with LabServer(LabSettings(keys=KEYS), cluster=cluster) as server:
        for name, fields in MALFORMED.items():
            response = await post(server.base_url + path, body(stream=is_stream, **fields))
            assert response.status_code == 400, name
            answer: dict[str, Any] = response.json()
            words = answer["message"] if "message" in answer else answer["errors"][0]["message"]
            assert "must be" in words or "only text parts" in words, name
    assert cluster.requests == []


SMALL = {"context_tokens": 16_384, "prefill_pool_tokens": 4_096, "decode_pool_tokens": 12_288}


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("topology", Topology)
@pytest.mark.parametrize(
    ("fields", "words", "is_late"),
    [
        ({"max_tokens": 1_000_000}, "Requested token count exceeds", False),
        ({"response_format": choice_schema()}, "Invalid grammar request", True),
    ],
)
async def test_what_the_door_lets_pass_the_cluster_refuses(
    path: str, topology: Topology, fields: dict[str, object], words: str, *, is_late: bool
):
    """Output beyond the context and a grammar that does not compile are a 400, the late one inside a stream."""
    async with LabServer(LabSettings(keys=KEYS, topology=topology, **SMALL)) as server:
        whole = await post(server.base_url + path, body(**fields))
        stream = await post(server.base_url + path, body(stream=True, **fields))
        sound = await post(server.base_url + path, body())
    assert whole.status_code == 400
    assert words in whole.text
    assert stream.status_code == (200 if is_late else 400)
    assert words in stream.text
    assert sound.status_code == 200


@pytest.mark.parametrize("path", [CHAT, COMPATIBLE])
async def test_log_probabilities_come_with_the_chunk_and_with_the_whole(path: str):
    """Token texts stand beside the text they make up, in frames as in a whole answer."""
    async with lab(SPOKEN) as server:
        whole = await post(server.base_url + path, body(logprobs=True))
        stream = await post(server.base_url + path, body(logprobs=True, stream=True))
    tokens = whole.json()["choices"][0]["logprobs"]["content"]
    assert [token["token"] for token in tokens] == ["red", " fox", " jumps"]
    assert [token["logprob"] for token in tokens] == [-0.5, 0.0, -1.0]
    assert whole.json()["choices"][0]["message"]["content"] == "red fox jumps"
    payloads: list[Any] = frames(stream.text)
    choices = [payload["choices"][0] for payload in payloads[:-1]]
    said = [
        (choice["delta"]["content"], [token["token"] for token in choice["logprobs"]["content"]])
        for choice in choices
        if choice["logprobs"]
    ]
    assert said == [("red", ["red"]), (" fox jumps", [" fox", " jumps"])]


async def test_log_probabilities_of_text_completions_are_parallel_lists():
    """The older route has the older form, with the places of tokens in the text."""
    async with lab(SPOKEN) as server:
        whole = await post(server.base_url + COMPLETIONS, body(logprobs=0))
    choice = whole.json()["choices"][0]
    assert choice["logprobs"]["tokens"] == ["red", " fox", " jumps"]
    assert [choice["text"][offset:][:3] for offset in choice["logprobs"]["text_offset"]] == ["red", " fo", " ju"]


@pytest.mark.parametrize("path", ROUTES)
async def test_answers_name_their_build_and_what_was_cached(path: str):
    """Every object carries the same fingerprint, and cached tokens wherever they are known, be they none."""
    async with lab(SPOKEN) as server:
        whole = (await post(server.base_url + path, body())).json()
        stream = await post(server.base_url + path, body(stream=True, stream_options={"include_usage": True}))
    answer = whole.get("result", whole)
    payloads: list[Any] = frames(stream.text)[:-1]
    assert {payload["system_fingerprint"] for payload in payloads} == {answer["system_fingerprint"]}
    assert answer["system_fingerprint"].startswith("fp_")
    usages = [answer["usage"], payloads[-1]["usage"]]
    assert [usage["prompt_tokens_details"] for usage in usages] == [{"cached_tokens": 0}] * 2


class Front:
    """Says what it is told, as a gateway."""

    def __init__(self, *events: FrontEvent) -> None:
        self.events = events

    async def generate(self, _request: GenerateRequest):
        for event in self.events:
            yield event


def head(answer_id: str = "0" * 32, **fields: object) -> Head:
    return Head(answer_id=answer_id, service=Service(answer_of=answer_id, backend="b"), **fields)


async def told(events: tuple[FrontEvent, ...], path: str = CHAT, **fields: object) -> Any:  # noqa: ANN401 - httpx
    """Answer of a lab whose gateway says these events, and the lab's record of it."""
    server = lab()
    front = Front(*events)
    server._context.gateway = front
    async with server:
        response = await post(server.base_url + path, body(**fields))
        [record] = server.records.facts()
    return response, record


async def test_the_gateways_word_about_an_answer_is_passed_on():
    """Id, reported model and headers come from the head; the record knows who served, which no client is shown."""
    said = head("a" * 32, model="other-llm", headers={"x-litellm-attempted-fallbacks": "1"}, fingerprint="fp_1")
    response, record = await told((said, *SPOKEN))
    assert response.headers["x-litellm-attempted-fallbacks"] == "1"
    answer = response.json()
    assert (answer["id"], answer["model"], answer["system_fingerprint"]) == ("a" * 32, "other-llm", "fp_1")
    assert record["service"] == {
        "answer_of": "a" * 32,
        "backend": "b",
        "attempts": 1,
        "is_cached": False,
        "tokens_dropped": 0,
    }


async def test_two_answers_in_one_stream_show_as_two():
    """A second head amid a stream changes the id from there on: the surface hides nothing."""
    response, _record = await told((head("a" * 32), TOKENS[0], head("b" * 32), *SPOKEN), stream=True)
    payloads: list[Any] = frames(response.text)
    assert list(dict.fromkeys(payload["id"] for payload in payloads[:-1])) == ["a" * 32, "b" * 32]


@pytest.mark.parametrize("is_stream", [True, False])
async def test_an_answer_taken_over_amid_it_bears_the_id_of_its_request(*, is_stream: bool):
    """Of another's answer only the rest arrives, without its head: the front end names it as its own request's."""
    response, record = await told(SPOKEN, stream=is_stream)
    payloads: list[Any] = frames(response.text)[:-1] if is_stream else [response.json()]
    assert {payload["id"] for payload in payloads} == {record["unique_id"]}
    assert record["kind"] == "served"
    assert record["service"] is None


@pytest.mark.parametrize("path", ROUTES)
async def test_a_severed_stream_ends_without_a_word(path: str):
    """200, what was said until then, and the end of the body: no error, no finish reason, no terminator."""
    response, record = await told((head(), TOKENS[0], Severed()), path, stream=True)
    assert response.status_code == 200
    payloads: list[Any] = frames(response.text)
    assert "[DONE]" not in payloads
    assert not any(payload.get("error") or payload["choices"][0]["finish_reason"] for payload in payloads)
    assert "red" in response.text
    assert record["kind"] == "severed"


@pytest.mark.parametrize("path", ROUTES)
async def test_a_severed_whole_answer_is_empty(path: str):
    """200 with a body that says nothing: no text, no finish reason, no tokens."""
    response, record = await told((head(), Severed()), path)
    assert response.status_code == 200
    answer = response.json().get("result", response.json())
    choice = answer["choices"][0]
    assert (choice.get("text") or choice.get("message", {}).get("content") or "") == ""
    assert choice["finish_reason"] is None
    assert answer["usage"]["prompt_tokens"] == 0
    assert record["kind"] == "severed"


async def test_groups_are_listed_and_reached_by_name():
    """Each model group has its card with its own context, and Workers AI serves the names of all."""
    other = LabSettings(model="other-llm", context_tokens=4_096)
    cluster = ScriptedCluster()
    async with asyncio.timeout(10), LabServer(LabSettings(keys=KEYS, other_groups=(other,)), cluster=cluster) as server:
        answer = await post(server.base_url + COMPATIBLE, body(model="other-llm") | {"model": "other-llm"})
        unknown = await post(server.base_url + COMPATIBLE, body() | {"model": "no-such-llm"})
        [record, _refused] = server.records.facts()
    assert answer.json()["model"] == "other-llm"
    assert record["service"]["backend"] == "other-llm/0"
    assert unknown.status_code == 400
