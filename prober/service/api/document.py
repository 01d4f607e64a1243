"""The OpenAPI document: every operation with its scope and with every problem it may answer."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from prober import __version__
from prober.service.api.problems import MEDIA_TYPE, ProblemDocument, ProblemKind

Answers = dict[int | str, dict[str, Any]]

OF_ALL = (
    ProblemKind.UNAUTHENTICATED,
    ProblemKind.SCOPE_MISSING,
    ProblemKind.TOO_SLOW,
    ProblemKind.TOO_LARGE,
    ProblemKind.INVALID,
    ProblemKind.TOO_MANY_REQUESTS,
    ProblemKind.INTERNAL,
    ProblemKind.DATABASE_UNAVAILABLE,
)
"""What every operation below `/api/v1` may answer."""

_ABOUT = """Runs, findings, issues and evidence of the isolation prober. Answers carry ids, hashes, counts and our own
words; foreign text stands in `/vault` alone. Every answer is `Cache-Control: no-store`. Errors are problem documents
(RFC 9457)."""

_WITH_RETRY = {ProblemKind.TOO_MANY_REQUESTS.status, ProblemKind.DATABASE_UNAVAILABLE.status}


def answers(*kinds: ProblemKind) -> Answers:
    """Describe problems for a route's `responses`; several of one status share its entry."""
    described: Answers = {}
    for kind in kinds:
        entry = described.setdefault(kind.status, {"model": ProblemDocument, "description": ""})
        entry["description"] = "; ".join(filter(None, [entry["description"], f"`{kind.code}`: {kind.title}"]))
        if kind.status in _WITH_RETRY:
            wait = {"schema": {"type": "integer", "minimum": 1}, "description": "Seconds to wait."}
            entry["headers"] = {"Retry-After": wait}
    return described


def openapi(app: FastAPI) -> dict[str, Any]:
    """Build the document once, and keep it."""
    if app.openapi_schema is None:
        document = get_openapi(
            title="Isolation prober", version=__version__, description=_ABOUT, routes=app.routes, tags=None
        )
        for operations in document["paths"].values():
            for operation in operations.values():
                _as_problems(operation["responses"])
        app.openapi_schema = document
    return app.openapi_schema


def _as_problems(responses: dict[str, Any]) -> None:
    """Give errors their own media type: the framework describes all answers of a route by one."""
    for status, response in responses.items():
        if int(status) >= ProblemKind.UNAUTHENTICATED.status and "application/json" in response.get("content", {}):
            response["content"] = {MEDIA_TYPE: response["content"].pop("application/json")}
