"""What goes wrong, as problem documents (RFC 9457) in our own words: never an exception's text, nor what was sent."""

import enum
import math
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from prober.config import wording

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:isolation-prober:problem:"

MOST_ERRORS = 20
"""Of one request; whoever sends more faults mends these first."""


class ProblemKind(enum.Enum):
    """Every problem there is: its name in `type`, its status, its title. Documented in docs/api.md."""

    UNAUTHENTICATED = ("unauthenticated", 401, "A live API token is needed")
    SCOPE_MISSING = ("scope-missing", 403, "The token does not permit this")
    NOT_FOUND = ("not-found", 404, "There is no such thing")
    METHOD_NOT_ALLOWED = ("method-not-allowed", 405, "This method is not served here")
    TOO_SLOW = ("too-slow", 408, "The request did not arrive in time")
    TOO_LARGE = ("too-large", 413, "The request body is too large")
    INVALID = ("invalid", 422, "The request cannot be used")
    KEY_REUSED = ("idempotency-key-reused", 422, "The idempotency key stands for another request")
    TOO_MANY_REQUESTS = ("too-many-requests", 429, "Too many requests")
    INTERNAL = ("internal", 500, "The prober failed")
    DATABASE_UNAVAILABLE = ("database-unavailable", 503, "The database cannot be used now")
    VAULT_LOCKED = ("vault-locked", 503, "No key opens this evidence")
    NOT_READY = ("not-ready", 503, "The service is not ready")

    def __init__(self, code: str, status: int, title: str) -> None:
        self.code = code
        self.status = status
        self.title = title


class Flaw(BaseModel):
    """One thing that is wrong with a request."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    where: str
    """Part of the request and field, such as `body.target`; fields that are not known are not named."""
    message: str
    """What is wrong, without what was sent."""


class ProblemDocument(BaseModel):
    """A problem document (RFC 9457)."""

    model_config = ConfigDict(
        title="Problem",
        use_attribute_docstrings=True,
        json_schema_extra={
            "example": {
                "type": f"{TYPE_PREFIX}invalid",
                "title": ProblemKind.INVALID.title,
                "status": 422,
                "detail": "body.target: is missing",
                "flaws": [{"where": "body.target", "message": "is missing"}],
            }
        },
    )

    type: str
    """`urn:isolation-prober:problem:` and the problem's name, which never changes."""
    title: str
    """The same for all problems of one type."""
    status: int
    """HTTP status."""
    detail: str
    """About this one."""
    flaws: list[Flaw] = []
    """Of a request that cannot be used, one entry each."""
    not_ready: list[str] = []
    """Parts of a service that is not ready."""


class Problem(Exception):  # noqa: N818 - RFC 9457's word for it
    """Ends a request with a problem document."""

    def __init__(
        self,
        kind: ProblemKind,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        flaws: Sequence[Flaw] = (),
        not_ready: Sequence[str] = (),
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.headers = dict(headers or {})
        self.flaws = list(flaws)
        self.not_ready = list(not_ready)

    def response(self) -> JSONResponse:
        """Render it."""
        document = ProblemDocument(
            type=TYPE_PREFIX + self.kind.code,
            title=self.kind.title,
            status=self.kind.status,
            detail=self.detail,
            flaws=self.flaws,
            not_ready=self.not_ready,
        )
        return JSONResponse(
            document.model_dump(exclude_defaults=True),
            status_code=self.kind.status,
            headers=self.headers,
            media_type=MEDIA_TYPE,
        )


def not_found(what: str) -> Problem:
    """Build the problem of a thing that is not there; `what` is a word of ours, never the caller's."""
    return Problem(ProblemKind.NOT_FOUND, f"There is no such {what}.")


def too_many(detail: str, wait_seconds: float) -> Problem:
    """Build the problem of a caller who must wait."""
    wait = {"Retry-After": str(max(1, math.ceil(wait_seconds)))}
    return Problem(ProblemKind.TOO_MANY_REQUESTS, detail, headers=wait)


def of_validation(error: RequestValidationError) -> Problem:
    """Say what is wrong with a request, field by field, quoting nothing of it."""
    flaws = [_flaw(fault) for fault in error.errors()[:MOST_ERRORS]]
    detail = "; ".join(f"{flaw.where}: {flaw.message}" for flaw in flaws) or "It is not valid."
    return Problem(ProblemKind.INVALID, detail, flaws=flaws)


def of_http(error: HTTPException) -> Problem:
    """Say in our words what the framework refused by itself."""
    if error.status_code == ProblemKind.METHOD_NOT_ALLOWED.status:
        return Problem(ProblemKind.METHOD_NOT_ALLOWED, "See the header Allow.", headers=error.headers)
    if error.status_code == ProblemKind.NOT_FOUND.status:
        return Problem(ProblemKind.NOT_FOUND, "Nothing is served under this path.")
    return Problem(ProblemKind.INVALID, "It cannot be read.")


_UNKNOWN = "extra_forbidden"
_WORDS: Mapping[str, str] = {
    _UNKNOWN: "holds a field that is not known",
    "missing": "is missing",
    "json_invalid": "is no JSON",
    "string_type": "must be text",
    "string_pattern_mismatch": "holds characters that are not allowed here",
    "string_unicode": "holds characters that are no text",
    "timezone_aware": "needs a time zone",
    "model_attributes_type": "must be a JSON object",
    "model_type": "must be a JSON object",
    "dict_type": "must be a JSON object",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "uuid_parsing": "must be a UUID",
}
_WITH_LIMIT: Mapping[str, tuple[str, str]] = {
    "string_too_short": ("min_length", "must have at least {} characters"),
    "string_too_long": ("max_length", "must have at most {} characters"),
    "too_short": ("min_length", "must have at least {} entries"),
    "too_long": ("max_length", "must have at most {} entries"),
}


def _flaw(fault: Mapping[str, Any]) -> Flaw:
    """Name the part and its field, and no deeper: below a field stand keys of the caller's."""
    kind, context, place = fault["type"], fault.get("ctx", {}), fault["loc"]
    named = place[:1] if kind == _UNKNOWN else place[:2]
    where = ".".join(step for step in named if isinstance(step, str))
    if kind in _WORDS:
        return Flaw(where=where, message=_WORDS[kind])
    if kind in _WITH_LIMIT:
        limit, words = _WITH_LIMIT[kind]
        return Flaw(where=where, message=words.format(context[limit]))
    if kind.startswith("datetime"):
        return Flaw(where=where, message="must be a date and time (RFC 3339)")
    return Flaw(where=where, message=wording.message(kind, context))
