"""Puts the pages together: addresses, files, what is told when something goes wrong."""

import importlib.resources
from collections.abc import Sequence

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from prober.domain.errors import LedgerError
from prober.report.pictures.svg import stylesheet
from prober.service.api.problems import Problem
from prober.service.pages import findings, issues, login, overview, runs, targets, vault
from prober.service.pages.access import Denied
from prober.service.pages.ports import PagePorts
from prober.service.pages.rendering import SITE, render

_RETRY = {"Retry-After": "5"}


def mount(app: FastAPI, ports: PagePorts) -> None:
    """Serve the pages under `/ui/`, beside the API; `/` leads there."""
    site = Starlette(
        routes=_routes(),
        exception_handlers={
            Denied: _denied,
            Problem: _problem,
            HTTPException: _refused,
            LedgerError: _without_database,
            Exception: _failed,
        },
    )
    site.state.pages = ports
    # The API's own: a token has one rate, and guessing is counted once, whichever door is tried.
    site.state.turnstile = app.state.turnstile
    app.router.routes += [Route("/", _home), Route(SITE, _home), Mount(SITE, site)]


def _routes() -> Sequence[BaseRoute]:
    return (
        Route("/", overview.show),
        Route("/login", login.show),
        Route("/login", login.log_in, methods=["POST"]),
        Route("/logout", login.log_out, methods=["POST"]),
        Route("/targets/{target}", targets.show),
        Route("/targets/{target}/run", runs.start, methods=["POST"]),
        Route("/runs", runs.listed),
        Route("/runs/{run_id}", runs.show),
        Route("/runs/{run_id}/progress", runs.progress),
        Route("/runs/{run_id}/cancel", runs.cancel, methods=["POST"]),
        Route("/runs/{run_id}/report/{format}", runs.report),
        Route("/issues", issues.listed),
        Route("/issues/{issue_id:int}", issues.show),
        Route("/issues/{issue_id:int}/acknowledge", issues.acknowledge, methods=["POST"]),
        Route("/issues/{issue_id:int}/resolve", issues.resolve, methods=["POST"]),
        Route("/issues/{issue_id:int}/suppress", issues.suppress, methods=["POST"]),
        Route("/issues/{issue_id:int}/note", issues.annotate, methods=["POST"]),
        Route("/findings/{finding_id:int}", findings.show),
        Route("/vault/{finding_id:int}", vault.ask),
        Route("/vault/{finding_id:int}", vault.show, methods=["POST"]),
        Route("/static/pictures.css", _picture_style),
        Mount("/static", _files(), name="static"),
    )


def _files() -> StaticFiles:
    return _Files(directory=str(importlib.resources.files("prober.service.pages").joinpath("static")))


class _Files(StaticFiles):
    """Files that browsers may keep for an hour: they hold nothing of anybody."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        """Answer with a file."""
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]  # handed through
        response.headers["Cache-Control"] = "public, max-age=3600"
        return response


async def _picture_style(request: Request) -> Response:
    """Hand out the style that reports have within them."""
    del request
    return Response(stylesheet(), media_type="text/css", headers={"Cache-Control": "public, max-age=3600"})


async def _home(request: Request) -> Response:
    del request
    return RedirectResponse(f"{SITE}/", status_code=307)


async def _denied(request: Request, error: Exception) -> Response:
    assert isinstance(error, Denied)  # noqa: S101 - registered for this class alone
    return _told(request, error)


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)  # noqa: S101 - likewise
    kind = error.kind
    return _told(request, Denied(kind.status, kind.title, error.detail, headers=error.headers))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - likewise
    if error.status_code == 405:  # noqa: PLR2004 - method not allowed
        return _told(
            request, Denied(405, "Not like this", "This address takes no such request.", headers=error.headers)
        )
    return _told(request, Denied(404, "No such page", "Nothing is served under this address."))


async def _without_database(request: Request, error: Exception) -> Response:
    del error
    detail = "Nothing was lost that was stored. Try again in a moment; /readyz tells when it can be used."
    return _told(request, Denied(503, "The database cannot be used now", detail, headers=_RETRY))


async def _failed(request: Request, error: Exception) -> Response:
    """Tell nothing of it; it goes on to be counted, and logged by its class."""
    del error
    return _told(request, Denied(500, "The prober failed", "It is counted among the internal errors."))


def _told(request: Request, denied: Denied) -> Response:
    return render(request, "problem.html", status=denied.status, headers=denied.headers, denied=denied)
