"""Assembles the API: routes, boundaries, problems, document."""

import functools

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from prober.service.api import evidence, findings, health, issues, reports, runs, schedules, stop, targets
from prober.service.api.access import Turnstile
from prober.service.api.boundaries import Bounded, Guarded
from prober.service.api.desk import Desk
from prober.service.api.document import OF_ALL, answers, openapi
from prober.service.api.problems import Problem, ProblemKind, of_http, of_validation

PREFIX = "/api/v1"
DOCUMENT_PATH = f"{PREFIX}/openapi.json"

_METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")


def build_app(desk: Desk) -> FastAPI:
    """Build the application over these ports. It opens nothing, and closes nothing of the desk's.

    Serve it without proxy headers: addresses of callers are then those of connections, which nobody can forge.
    """
    settings = desk.settings
    app = FastAPI(
        openapi_url=DOCUMENT_PATH,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.desk = desk
    app.state.turnstile = Turnstile(settings, desk.clock)
    app.include_router(health.router)
    app.include_router(health.metrics_router(is_public=settings.metrics_public))
    app.include_router(_versioned())
    app.add_exception_handler(Problem, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_refused)
    app.add_middleware(Bounded, most_bytes=settings.max_body_bytes)
    app.add_middleware(Guarded, report=desk.report)
    app.openapi = functools.partial(openapi, app)  # type: ignore[method-assign]  # FastAPI's documented way
    return app


def _versioned() -> APIRouter:
    router = APIRouter(prefix=PREFIX, responses=answers(*OF_ALL))
    for each in (runs, reports, findings, issues, targets, schedules, stop, evidence):
        router.include_router(each.router)
    return router


async def _on_problem(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, Problem)  # noqa: S101 - registered for this class alone
    return error.response()


async def _on_invalid(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, RequestValidationError)  # noqa: S101 - likewise
    return of_validation(error).response()


async def _on_refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - likewise
    problem = of_http(error)
    if problem.kind is ProblemKind.METHOD_NOT_ALLOWED:
        problem.headers["Allow"] = ", ".join(_methods(request))
    return problem.response()


def _methods(request: Request) -> list[str]:
    """All methods of a path (RFC 9110, section 10.2.1); the framework names those of one of its routes alone."""
    asked = [(method, {**request.scope, "method": method}) for method in _METHODS]
    routes = request.app.routes
    return [method for method, scope in asked if any(route.matches(scope)[0] is Match.FULL for route in routes)]
