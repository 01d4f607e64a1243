"""Every route for every caller; nothing that must stay inside comes out."""

import re
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.routing import iter_route_contexts

from prober.domain.account import Scope
from prober.service.api.app import build_app
from prober.store.database import Database
from prober.store.schema.runs import observations, probes
from prober.wiring.campaigns import campaign_of, read_settings
from tests.support.api import V1, Served, served
from tests.support.command import CREDENTIALS, Workplace
from tests.support.ledger import SettableClock
from tests.support.vault import CUSTOMER, Archive

NEEDED: dict[tuple[str, str], Scope | None] = {
    ("GET", "/healthz"): None,
    ("GET", "/readyz"): None,
    ("GET", "/metrics"): Scope.READ,
    ("GET", f"{V1}/openapi.json"): None,
    ("HEAD", f"{V1}/openapi.json"): None,
    ("POST", f"{V1}/runs"): Scope.RUN,
    ("GET", f"{V1}/runs"): Scope.READ,
    ("GET", f"{V1}/runs/{{run_id}}"): Scope.READ,
    ("GET", f"{V1}/runs/{{run_id}}/report"): Scope.READ,
    ("POST", f"{V1}/runs/{{run_id}}/cancel"): Scope.RUN,
    ("GET", f"{V1}/findings"): Scope.READ,
    ("GET", f"{V1}/findings/{{finding_id}}"): Scope.READ,
    ("GET", f"{V1}/issues"): Scope.READ,
    ("GET", f"{V1}/issues/{{issue_id}}"): Scope.READ,
    ("POST", f"{V1}/issues/{{issue_id}}/acknowledge"): Scope.ADMIN,
    ("POST", f"{V1}/issues/{{issue_id}}/resolve"): Scope.ADMIN,
    ("POST", f"{V1}/issues/{{issue_id}}/suppress"): Scope.ADMIN,
    ("POST", f"{V1}/issues/{{issue_id}}/note"): Scope.ADMIN,
    ("GET", f"{V1}/targets"): Scope.READ,
    ("GET", f"{V1}/coverage"): Scope.READ,
    ("GET", f"{V1}/schedules"): Scope.READ,
    ("POST", f"{V1}/schedules/{{name}}/pause"): Scope.ADMIN,
    ("POST", f"{V1}/schedules/{{name}}/resume"): Scope.ADMIN,
    ("GET", f"{V1}/stop"): Scope.READ,
    ("POST", f"{V1}/stop"): Scope.ADMIN,
    ("DELETE", f"{V1}/stop"): Scope.ADMIN,
    ("GET", f"{V1}/vault/{{finding_id}}"): Scope.VAULT,
}
"""What each route needs; None: nothing, on purpose."""

NOBODY = ("no token", "wrong", "revoked", "expired")


@pytest.fixture
def closed(sqlite_database: Database, clock: SettableClock) -> Served:
    """With metrics for readers, and limits that no test reaches."""
    settings = {"metrics_public": False, "requests_per_minute": 100_000, "failed_logins_per_minute": 100_000}
    return served(sqlite_database, clock, settings=settings)


def routes_of(api: Served) -> set[tuple[str, str]]:
    """All that the application answers, in the document or not."""
    contexts = list(iter_route_contexts(api.app.routes))
    assert all(context.methods and context.path for context in contexts)
    return {(method, str(context.path)) for context in contexts for method in context.methods}


def test_every_route_has_its_row(closed: Served):
    """A new route stands in the matrix, or fails it."""
    assert routes_of(closed) == set(NEEDED)


async def secrets_of(api: Served) -> dict[str, str | None]:
    """A caller of each kind."""
    tokens = api.tokens
    secrets: dict[str, str | None] = {"no token": None, "wrong": f"iprb_{'a' * 16}_{'b' * 52}"}
    secrets["expired"] = await tokens.create("expired", list(Scope), api.clock.now().replace(hour=13))
    api.clock.advance(3_600)
    secrets["revoked"] = await tokens.create("revoked", list(Scope))
    await tokens.revoke("revoked")
    for scope in Scope:
        secrets[scope.value] = await tokens.create(scope.value, [scope])
        others = [other for other in Scope if other is not scope]
        secrets[f"all but {scope.value}"] = await tokens.create(f"no-{scope.value}", others)
    secrets["all"] = await tokens.create("all", list(Scope))
    return secrets


def allowed(needed: Scope | None, caller: str) -> bool:
    if needed is None:
        return True
    names = {needed.value, "all", *(f"all but {scope.value}" for scope in Scope if scope is not needed)}
    return caller in names


async def test_every_route_lets_in_whom_it_should(closed: Served):
    """401 for nobody, 403 without the scope, something else with it, on every route.

    Callers: no token, a wrong, a revoked and an expired one, each scope alone, all but it, all.
    """
    secrets = await secrets_of(closed)
    wrong: dict[tuple[str, str, str], int] = {}
    for method, path in sorted(routes_of(closed)):
        filled = re.sub(r"\{\w+\}", "1", path)
        for caller, secret in secrets.items():
            async with closed.client(secret) as client:
                status = (await client.request(method, filled)).status_code
            is_allowed = allowed(NEEDED[method, path], caller)
            expected = {401} if caller in NOBODY else {403}
            if (status in {401, 403}) if is_allowed else (status not in expected):
                wrong[method, path, caller] = status
    assert wrong == {}
    assert closed.faults == []


def test_the_document_names_the_scope_of_each_route(closed: Served):
    """OpenAPI says what the matrix says."""
    document = closed.app.openapi()
    stated = {
        (method.upper(), path): operation.get("security")
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    expected = {
        key: None if scope is None else [{"token": [scope.value]}]
        for key, scope in NEEDED.items()
        if not key[1].endswith("openapi.json")
    }
    assert stated == expected


async def test_no_scripts_are_loaded_from_elsewhere(api: Served):
    """No documentation pages: those of the framework load theirs from a remote host."""
    for path in ("/docs", "/redoc", f"{V1}/docs", "/openapi.json"):
        assert (await api.client().get(path)).status_code == 404


def test_metrics_have_one_route_either_way(api: Served):
    """Public by default, and then without a row of its own for readers."""
    assert routes_of(api) == set(NEEDED)
    assert "security" not in api.app.openapi()["paths"]["/metrics"]["get"]


def test_building_opens_nothing(api: Served):
    """Ports are touched by requests alone: an application may be built to print its document."""

    class Untouched:
        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute
            raise AssertionError(name)

    ports = {name: Untouched() for name in ("tokens", "queue", "lookups", "issues", "schedules", "switches", "vault")}
    app = build_app(api.desk.__class__(**{**{f: getattr(api.desk, f) for f in api.desk.__slots__}, **ports}))
    assert app.openapi()["info"]["title"] == "Isolation prober"


PLANTED = "planted-by-the-remote-9f8e7d6c"


async def test_nothing_that_must_stay_inside_comes_out(sqlite_database: Database, clock: SettableClock, tmp_path: Path):
    """Credentials of the configuration, what the remote said of itself, customers' text: in no body and no header.

    The vault's route alone shows a customer's text.
    """
    place = Workplace(tmp_path).configure("http://127.0.0.1:9/v1", headers={"x-gateway": "sk-gateway-7a6b5c4d"})
    settings = read_settings(place.config, CREDENTIALS).settings
    archive = Archive(sqlite_database, clock)
    await archive.caught()
    async with sqlite_database.begin() as connection:
        said = {"failure_detail": PLANTED, "model_reported": PLANTED, "request_id": PLANTED, "response_id": PLANTED}
        await connection.execute(sa.update(observations).values(evidence_headers={"x-served-by": PLANTED}, **said))
        assert (await connection.execute(sa.select(sa.func.count()).select_from(probes))).scalar_one() == 1
    api = served(
        sqlite_database,
        clock,
        vault=archive.vault,
        campaigns=lambda: {name: campaign_of(settings, name) for name in settings.targets},
    )
    secret = await api.tokens.create("all", list(Scope))
    hidden = [*CREDENTIALS.values(), "sk-gateway-7a6b5c4d", str(tmp_path), "127.0.0.1:9", PLANTED, secret, CUSTOMER]

    texts: dict[str, str] = {}
    async with api.client(secret) as client:
        for method, path in sorted(routes_of(api)):
            for number in ("1", "3", "run-1", "hostile", CREDENTIALS["ALPHA_KEY"]):
                filled = re.sub(r"\{\w+\}", number, path)
                answered = await client.request(
                    method, filled, params={"reason": "look"} if "vault" in path else None, json={"x": secret}
                )
                texts[f"{method} {filled}"] = f"{answered.text} {dict(answered.headers)}"

    leaks = {(place, text) for place, body in texts.items() for text in hidden if text in body}
    assert leaks == {("GET /api/v1/vault/1", CUSTOMER), ("GET /api/v1/vault/3", CUSTOMER)}
    assert api.faults == []
