"""docs/api.md says what the application does, and its examples work."""

import contextlib
import dataclasses
import json
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from prober.domain.account import Scope
from prober.service.api.parameters import MOST_PER_PAGE, Paging
from prober.service.api.problems import TYPE_PREFIX, ProblemKind
from prober.store.database import Database
from prober.store.vault import Vault
from tests.service.api.test_app import NEEDED
from tests.support.api import Served, served
from tests.support.ledger import SettableClock
from tests.support.markdown import codes, document, rows, section
from tests.support.reports import a_campaign
from tests.support.serving import serving
from tests.support.vault import FIRST, Archive

PAGE = document("docs/api.md")
EXAMPLES = re.findall(r"^```bash\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_every_route_is_documented():
    """Each route has its row with its scope, and each row is a route."""
    documented = {
        tuple(codes(cells[0])[0].split(" ")): None if cells[1] == "none" else Scope(codes(cells[1])[0])
        for cells in rows(section(PAGE, "## Routes"))
    }
    served_by = {key: scope for key, scope in NEEDED.items() if key[0] != "HEAD"}
    assert documented == {**served_by, ("GET", "/metrics"): None}


def test_every_scope_is_documented():
    """In their order."""
    assert [codes(cells[0])[0] for cells in rows(section(PAGE, "## Tokens"))] == [scope.value for scope in Scope]


def test_every_problem_is_documented():
    """Name and status of each, in their order, and no other one."""
    documented = [(codes(cells[0])[0], int(cells[1])) for cells in rows(section(PAGE, "## Errors"))]
    assert documented == [(kind.code, kind.status) for kind in ProblemKind]
    assert f"`{TYPE_PREFIX}`" in PAGE


def test_every_filter_is_documented(api: Served):
    """The row of a list names all that it can be filtered by; paging is explained for all of them."""
    paging = {"limit", "cursor"}
    assert f"`limit` is 1 to {MOST_PER_PAGE}, {Paging().limit} by default" in PAGE
    for cells in rows(section(PAGE, "## Routes")):
        method, path = codes(cells[0])[0].split(" ")
        operation = api.app.openapi()["paths"].get(path, {}).get(method.lower(), {})
        given = {each["name"] for each in operation.get("parameters", []) if each["in"] == "query"} - paging
        assert given <= set(codes(cells[2])), path


@pytest.fixture(scope="module")
def address(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """URL of a service with a leak in its database, and a token with all scopes."""
    path = tmp_path_factory.mktemp("examples") / "ledger.db"
    shutil.copy(sqlite_template, path)
    secrets: list[str] = []

    @contextlib.asynccontextmanager
    async def built() -> AsyncIterator[ASGIApp]:
        database, clock = Database(f"sqlite:///{path}"), SettableClock()
        await Archive(database, clock).caught()
        campaign = a_campaign()
        campaign = dataclasses.replace(campaign, target=dataclasses.replace(campaign.target, name="glm"))
        api = served(database, clock, vault=Vault(database, clock, FIRST), campaigns=lambda: {"glm": campaign})
        secrets.append(await api.tokens.create("ci", list(Scope)))
        try:
            yield api.app
        finally:
            await database.close()

    with serving(built) as url:
        yield url, secrets[0]


def test_the_examples_work(address: tuple[str, str]):
    """Run by a shell, one after the other as a reader does: each command is answered, by 200 or 202."""
    url, secret = address
    # Each curl also tells its status, on a line of its own on standard error.
    script = "set -eu\ncurl() { command curl -w '%{stderr}%{http_code}\\n' \"$@\"; echo; }\n" + "\n".join(EXAMPLES)
    done = subprocess.run(
        ["bash", "-c", script],
        env={"API": url, "TOKEN": secret, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    statuses = done.stderr.split()
    assert len(statuses) == sum(example.count("curl ") for example in EXAMPLES) >= 12
    assert set(statuses) == {"200", "202"}, (done.stderr, done.stdout)
    first = json.loads(done.stdout.splitlines()[0])
    assert (first["trigger"], first["rollout"]["commit"]) == ("rollout", "4f43dbe")
    assert "Mustermann" in done.stdout
    assert "cancelled" in done.stdout
