"""The gateway's response cache: whole responses, sent again without asking a backend."""

import collections
import dataclasses
import functools
import itertools
from collections.abc import Hashable

from prober.lab.events import FrontEvent, GenerateRequest, Head
from prober.lab.seams import Seams

SHINGLE_WORDS = 2
"""Prompts are alike by the word pairs they share; single words say little where the vocabulary is small."""

CACHE_HEADER = "x-litellm-cache-key"


class StoredResponse:
    """One response with the prompt it answered."""

    def __init__(self, request: GenerateRequest, events: tuple[FrontEvent, ...]) -> None:
        self._request = request
        self._events = events

    def replayed(self) -> tuple[FrontEvent, ...]:
        """The same response again, its id included, marked as stored."""
        return tuple(_marked(event) if isinstance(event, Head) else event for event in self._events)

    @functools.cached_property
    def shingles(self) -> frozenset[tuple[str, ...]]:
        """Of the prompt."""
        return shingles_of(self._request)


class ResponseCache:
    """Responses by key, the least recently used one forgotten first."""

    def __init__(self, capacity: int, seams: Seams, counters: collections.Counter[str]) -> None:
        self._capacity = capacity
        self._seams = seams
        self._counters = counters
        self._stored: collections.OrderedDict[Hashable, StoredResponse] = collections.OrderedDict()

    def key(self, request: GenerateRequest) -> Hashable:
        """Under what the response to a request is kept."""
        return self._seams.cache_key(request) if self._capacity else None

    def find(self, number: int, key: Hashable, request: GenerateRequest) -> tuple[FrontEvent, ...] | None:
        """Look up the response to a request; None: a backend must be asked."""
        if not self._capacity:
            return None
        found = self._stored.get(key)
        if found is None:
            key, found = self._alike(number, request)
        if found is None:
            self._counters["cache_misses"] += 1
            return None
        self._counters["cache_hits"] += 1
        self._stored.move_to_end(key)
        return found.replayed()

    def store(self, key: Hashable, request: GenerateRequest, events: tuple[FrontEvent, ...]) -> None:
        """Keep a whole response."""
        if not self._capacity:
            return
        self._stored[key] = StoredResponse(request, events)
        if len(self._stored) > self._capacity:
            self._stored.popitem(last=False)

    def _alike(self, number: int, request: GenerateRequest) -> tuple[Hashable, StoredResponse | None]:
        threshold = self._seams.similarity_threshold(number)
        if threshold is None or not self._stored:
            return None, None
        shingles = shingles_of(request)
        key, best = max(self._stored.items(), key=lambda item: likeness(item[1].shingles, shingles))
        return (key, best) if likeness(best.shingles, shingles) >= threshold else (None, None)


def shingles_of(request: GenerateRequest) -> frozenset[tuple[str, ...]]:
    """Word pairs of all messages."""
    words = [word for _role, content in request.messages for word in content.split()]
    return frozenset(zip(*(itertools.islice(words, start, None) for start in range(SHINGLE_WORDS)), strict=False))


def likeness(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    """Jaccard's index, 0..1: shared shingles among all; 0 where there are none."""
    shared = len(one & other)
    every = len(one) + len(other) - shared
    return shared / every if every else 0.0


def _marked(head: Head) -> Head:
    service = dataclasses.replace(head.service, is_cached=True)
    return dataclasses.replace(head, headers={**head.headers, CACHE_HEADER: head.answer_id}, service=service)
