"""The response cache."""

import collections
import dataclasses

from prober.lab.dice import Dice
from prober.lab.events import Chunk, Done, GenerateRequest, Head, Service
from prober.lab.gateway.response_cache import ResponseCache, likeness, shingles_of
from prober.lab.seams import Seams
from tests.support.echo_cluster import a_request

DONE = Done(finish_reason="stop", prompt_tokens=1, completion_tokens=1)


def a_cache(capacity: int = 10) -> ResponseCache:
    counters: collections.Counter[str] = collections.Counter()
    return ResponseCache(capacity, Seams(Dice({}, 0, counters)), counters)


def response(answer_id: str) -> tuple[Head, Chunk, Done]:
    return Head(answer_id=answer_id, service=Service(answer_of=answer_id, backend="b")), Chunk(content="x"), DONE


def put(cache: ResponseCache, request: GenerateRequest, answer_id: str) -> None:
    cache.store(cache.key(request), request, response(answer_id))


def found(cache: ResponseCache, request: GenerateRequest) -> str | None:
    events = cache.find(1, cache.key(request), request)
    return events[0].answer_id if events else None


def test_the_honest_key_is_tenant_and_whole_request():
    """Every field that shapes an answer, or says whose it is, keeps responses apart; ids of a request do not."""
    asked = a_request()
    cache = a_cache()
    put(cache, asked, "one")
    same = dataclasses.replace(asked, request_id="other", client_id="other", session="other")
    assert found(cache, same) == "one"
    changes = {
        "tenant": "birch",
        "messages": (("user", "hello!"),),
        "max_tokens": 9,
        "temperature": 0.5,
        "stream": False,
        "cache_salt": "x",
        "choices": ("a",),
        "favoured_token": 5,
        "reasoning_budget": 5,
        "wants_logprobs": True,
        "late_error": "no",
        "model": "other",
    }
    assert set(changes) | {"request_id", "client_id", "session"} == {
        field.name for field in dataclasses.fields(GenerateRequest)
    }
    for name, value in changes.items():
        assert found(cache, dataclasses.replace(asked, **{name: value})) is None, name


def test_the_least_recently_used_response_is_forgotten_first():
    """A full cache makes room for the newest by dropping what nobody asked for longest."""
    cache = a_cache(capacity=2)
    one, two, three = (a_request(text=text) for text in ("one", "two", "three"))
    put(cache, one, "1")
    put(cache, two, "2")
    assert found(cache, one) == "1"
    put(cache, three, "3")
    assert [found(cache, asked) for asked in (one, two, three)] == ["1", None, "3"]


def test_a_cache_without_room_is_none():
    """Switched off, it stores nothing and finds nothing."""
    cache = a_cache(capacity=0)
    put(cache, a_request(), "1")
    assert found(cache, a_request()) is None


def test_a_stored_response_says_that_it_was_stored():
    """The truth is kept for records, and shown in a header; the stored one itself stays as it was."""
    cache = a_cache()
    put(cache, a_request(), "1")
    for _ in range(2):
        events = cache.find(1, cache.key(a_request()), a_request())
        assert events is not None
        head, *rest = events
        assert head.service == Service(answer_of="1", backend="b", is_cached=True)
        assert rest == [Chunk(content="x"), DONE]


def test_likeness_is_the_share_of_common_word_pairs():
    """Equal texts are 1, texts without a common pair 0, and half a text in common lies between."""
    one, half, other = (shingles_of(a_request(text=text)) for text in ("a b c d e", "a b c x y", "p q r"))
    assert likeness(one, one) == 1.0
    assert likeness(one, other) == 0.0
    assert likeness(one, half) == likeness(half, one) == 2 / 6
    assert likeness(frozenset(), frozenset()) == 0.0
