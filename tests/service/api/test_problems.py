"""Problem documents: in our words, and in nobody else's."""

import json
import re

import pytest
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from prober.domain.account import Scope
from prober.service.api.problems import MOST_ERRORS, TYPE_PREFIX, Problem, ProblemKind, of_http, of_validation, too_many
from tests.support.api import V1, Served

SECRET = "sk-planted-9f8e7d6c5b4a"


def document_of(problem: Problem) -> dict[str, object]:
    return json.loads(bytes(problem.response().body))


@pytest.mark.parametrize("kind", ProblemKind)
def test_a_problem_is_a_problem_document(kind: ProblemKind):
    """Members and media type of RFC 9457, section 3; the status of the document is that of the answer."""
    response = Problem(kind, "Some words.").response()
    assert response.media_type == "application/problem+json"
    assert json.loads(bytes(response.body)) == {
        "type": TYPE_PREFIX + kind.code,
        "title": kind.title,
        "status": response.status_code,
        "detail": "Some words.",
    }


def test_names_of_problems_are_unique():
    """Callers branch on `type`."""
    assert len({kind.code for kind in ProblemKind}) == len(ProblemKind)
    assert all(re.fullmatch(r"[a-z-]+", kind.code) for kind in ProblemKind)


@pytest.mark.parametrize(("seconds", "shown"), [(0.001, "1"), (1.0, "1"), (1.01, "2"), (59.9, "60")])
def test_a_wait_is_in_whole_seconds_and_long_enough(seconds: float, shown: str):
    """Retry-After has no fractions (RFC 9110, section 10.2.3); who waits that long is let in."""
    assert too_many("Wait.", seconds).headers == {"Retry-After": shown}


@pytest.mark.parametrize(
    ("body", "flaws"),
    [
        ({}, {"body.target": "is missing"}),
        ({"target": 1}, {"body.target": "must be text"}),
        ({"target": SECRET + "\0"}, {"body.target": "holds characters that are not allowed here"}),
        ({"target": "a", SECRET: 1}, {"body": "holds a field that is not known"}),
        ({"target": "a", "trigger": SECRET}, {"body.trigger": "must be 'manual' or 'rollout'"}),
        ({"target": "a", "trigger": "schedule"}, {"body.trigger": "must be 'manual' or 'rollout'"}),
        ({"target": "a", "max_tokens": 0}, {"body.max_tokens": "must be at least 1"}),
        ({"target": "a", "max_tokens": 10**15}, {"body.max_tokens": "must be at most 1000000000000"}),
        ({"target": "a", "max_tokens": SECRET}, {"body.max_tokens": "must be a whole number"}),
        ({"target": "a", "scenarios": ["a"] * 65}, {"body.scenarios": "must have at most 64 entries"}),
        ({"target": "a", "scenarios": SECRET}, {"body.scenarios": "must be a list"}),
        ({"target": "a", "rollout": {"a": "x" * 257}}, {"body.rollout": "must have at most 256 characters"}),
        (
            {"target": "a", "rollout": {SECRET + " ": "x"}},
            {"body.rollout": "holds characters that are not allowed here"},
        ),
        ({"target": "a", "rollout": []}, {"body.rollout": "must be a JSON object"}),
        ([SECRET], {"body": "must be a JSON object"}),
    ],
)
async def test_flaws_say_where_and_what_and_quote_nothing(api: Served, body: object, flaws: dict[str, str]):
    """422 names part, field and rule; neither values nor keys of the caller's come back."""
    async with await api.caller(Scope.RUN) as client:
        answered = await client.post(f"{V1}/runs", json=body)
    assert answered.status_code == 422
    assert {flaw["where"]: flaw["message"] for flaw in answered.json()["flaws"]} == flaws
    assert SECRET not in answered.text


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"nul", b"[" * 60_000, b'{"a":' + b"9" * 5_000 + b"}", b"\0"])
async def test_a_body_that_is_no_json_is_422(api: Served, content: bytes):
    """Broken, nested without end, numbers without end: refused, and no fault of ours."""
    async with await api.caller(Scope.RUN) as client:
        answered = await client.post(f"{V1}/runs", content=content, headers={"Content-Type": "application/json"})
    assert answered.status_code == 422
    assert answered.json()["type"] == f"{TYPE_PREFIX}invalid"
    assert api.faults == []


def test_flaws_are_bounded():
    """A thousand faults make no large answer."""
    error = RequestValidationError([{"type": "missing", "loc": ("body", "target")}] * 1_000)
    assert len(of_validation(error).flaws) == MOST_ERRORS


def test_a_request_with_no_flaw_named_is_still_refused():
    """The framework may say that something is wrong, and not what."""
    assert document_of(of_validation(RequestValidationError([])))["detail"] == "It is not valid."


def test_a_flaw_of_a_new_kind_is_put_in_plain_words():
    """A later version of the validator may know more: its own text is never shown."""
    error = RequestValidationError([{"type": "brand_new", "loc": ("query", "limit"), "msg": SECRET, "input": SECRET}])
    assert document_of(of_validation(error))["detail"] == "query.limit: is not valid here"


@pytest.mark.parametrize(
    ("status", "code"), [(404, "not-found"), (405, "method-not-allowed"), (400, "invalid"), (418, "invalid")]
)
def test_what_the_framework_refuses_is_put_in_our_words(status: int, code: str):
    """Its own detail is dropped, its headers (Allow) are kept."""
    problem = of_http(HTTPException(status, detail=SECRET, headers={"Allow": "GET"} if status == 405 else None))
    assert document_of(problem)["type"] == TYPE_PREFIX + code
    assert SECRET not in json.dumps(document_of(problem))
    assert problem.headers == ({"Allow": "GET"} if status == 405 else {})


async def test_paths_and_methods_that_are_not_served(api: Served):
    """404 and 405 are problem documents too, also under paths of garbage; Allow names all methods of a path."""
    client = api.client()
    assert (await client.delete("/healthz")).json()["type"].endswith("method-not-allowed")
    assert (await client.delete("/healthz")).headers["allow"] == "GET"
    assert (await client.put(f"{V1}/runs")).headers["allow"] == "GET, POST"
    assert (await client.options(f"{V1}/stop")).headers["allow"] == "DELETE, GET, POST"
    assert (await client.get(f"{V1}/issues/1/resolve")).headers["allow"] == "POST"
    for path in ("/", "/docs", "/redoc", "/api/v2/runs", f"{V1}/runs/", "/%00", "/..%2f..%2fetc/passwd", "/%ff"):
        answered = await client.get(path)
        assert (answered.status_code, answered.json()["type"]) == (404, f"{TYPE_PREFIX}not-found"), path
