"""The OpenAPI document: complete, and true of the application on a real socket with a real database."""

import contextlib
import json
import re
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis import checks
from schemathesis.specs.openapi import checks as openapi_checks
from starlette.types import ASGIApp

from prober.domain.account import Scope
from prober.service.api.document import answers, openapi
from prober.service.api.problems import MEDIA_TYPE, ProblemKind
from prober.store.database import Database
from prober.store.vault import Vault
from tests.support.api import V1, Served, served
from tests.support.ledger import SettableClock
from tests.support.serving import serving
from tests.support.vault import FIRST, Archive

LIMITS = {"requests_per_minute": 1_000_000, "failed_logins_per_minute": 1_000_000}
EXAMPLES = 15
"""Requests per operation and kind; for all operations some 30 s."""


def document_of(api: Served) -> dict[str, Any]:
    return openapi(api.app)


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and description of each operation."""
    for path, methods in document["paths"].items():
        yield from ((f"{method} {path}", operation) for method, operation in methods.items())


def test_the_document_is_built_once(api: Served):
    """It is the same object each time: a request for it costs nothing."""
    assert document_of(api) is document_of(api)
    assert document_of(api)["openapi"].startswith("3.1")


def test_errors_are_described_as_problem_documents(api: Served):
    """Each of 400 and above, for each operation, by media type and shape."""
    for name, operation in operations(document_of(api)):
        for status, response in operation["responses"].items():
            if int(status) >= 400:
                assert list(response["content"]) == [MEDIA_TYPE], (name, status)
                reference = response["content"][MEDIA_TYPE]["schema"]
                assert reference == {"$ref": "#/components/schemas/ProblemDocument"}


def test_every_operation_below_the_version_describes_what_may_befall_all(api: Served):
    """Who writes a client finds each status that it may meet."""
    for name, operation in operations(document_of(api)):
        if V1 in name:
            assert {"401", "403", "408", "413", "422", "429", "500", "503"} <= set(operation["responses"]), name
            assert operation["security"][0]["token"][0] in {scope.value for scope in Scope}


def test_waits_are_described(api: Served):
    """429 and 503 carry Retry-After."""
    for name, operation in operations(document_of(api)):
        for status in {"429", "503"} & set(operation["responses"]):
            if V1 in name:
                assert "Retry-After" in operation["responses"][status]["headers"], name


def test_problems_of_one_status_share_an_entry():
    """422 is two problems of a start: both are told."""
    described = answers(ProblemKind.INVALID, ProblemKind.KEY_REUSED)
    assert list(described) == [422]
    assert "`invalid`" in described[422]["description"]
    assert "`idempotency-key-reused`" in described[422]["description"]


def test_every_operation_explains_itself(api: Served):
    """Each has a description, a tag, and a name that clients are generated from."""
    document = document_of(api)
    names = [operation["operationId"] for _, operation in operations(document)]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z_]+", name) for name in names)
    assert all(operation["description"] and operation["tags"] for _, operation in operations(document))


def test_what_callers_send_has_examples(api: Served):
    """For a run at least, as pipelines copy them."""
    examples = document_of(api)["components"]["schemas"]["RunOrder"]["examples"]
    assert [example["target"] for example in examples] == ["glm", "glm"]


async def test_the_document_is_served_without_a_token(api: Served):
    """Shapes are no secret, and clients are generated before anybody has a token."""
    answered = await api.client().get(f"{V1}/openapi.json")
    assert answered.json() == json.loads(json.dumps(document_of(api)))


def test_metrics_are_described_as_text(api: Served):
    """Not as JSON, which the framework would assume."""
    response = document_of(api)["paths"]["/metrics"]["get"]["responses"]["200"]
    assert [media.partition(";")[0] for media in response["content"]] == ["text/plain"]


@pytest.fixture(scope="module")
def live(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The application on a socket, with a leak and its evidence in the database."""
    path = tmp_path_factory.mktemp("live") / "ledger.db"
    shutil.copy(sqlite_template, path)
    facts: dict[str, Any] = {}

    @contextlib.asynccontextmanager
    async def built() -> AsyncIterator[ASGIApp]:
        database, clock = Database(f"sqlite:///{path}"), SettableClock()
        archive = Archive(database, clock)
        await archive.caught(1)
        await archive.caught(2)
        api = served(database, clock, settings=LIMITS, vault=Vault(database, clock, FIRST))
        facts["secret"] = await api.tokens.create("fuzzer", list(Scope))
        facts["faults"] = api.faults
        try:
            yield api.app
        finally:
            await database.close()

    with serving(built) as url:
        facts["url"] = url
        yield facts


CHECKS = [
    checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
]


def fuzz(operation: schemathesis.APIOperation, mode: schemathesis.GenerationMode, secret: str) -> int:
    """Send requests to one operation and check the answers; returns how many."""
    sent = 0

    @hypothesis.settings(
        max_examples=EXAMPLES,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: schemathesis.Case) -> None:
        nonlocal sent
        sent += 1
        case.call_and_validate(headers={"Authorization": f"Bearer {secret}"}, timeout=30, checks=CHECKS)

    ask()
    return sent


@pytest.mark.no_coverage
@pytest.mark.slow
@pytest.mark.parametrize("mode", [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE])
def test_no_request_makes_it_fail(live: dict[str, Any], mode: schemathesis.GenerationMode):
    """Whatever fits the document, and what does not: never 500, always a status, media type and shape of it."""
    schema = schemathesis.openapi.from_url(f"{live['url']}{V1}/openapi.json")
    # Nothing contradicts the description of an operation without parameters and body.
    wanted = [
        found.ok()
        for found in schema.get_all_operations()
        if mode is schemathesis.GenerationMode.POSITIVE or list(found.ok().iter_parameters()) or found.ok().body
    ]
    sent = {operation.label: fuzz(operation, mode, live["secret"]) for operation in wanted}
    assert live["faults"] == []
    assert len(sent) == len(wanted) >= 13
    assert all(sent.values())


def test_a_fault_would_be_seen(live: dict[str, Any]):
    """The check is not blind: an operation that answers what its description does not hold fails it."""
    schema = schemathesis.openapi.from_url(f"{live['url']}{V1}/openapi.json")
    schema.raw_schema["paths"][f"{V1}/targets"]["get"]["responses"]["200"]["content"]["application/json"]["schema"] = {
        "type": "object",
        "required": ["nothing"],
    }
    (targets,) = [found.ok() for found in schema.get_all_operations() if found.ok().path == f"{V1}/targets"]
    with pytest.raises(checks.FailureGroup):
        fuzz(targets, schemathesis.GenerationMode.POSITIVE, live["secret"])
