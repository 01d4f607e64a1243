"""Templates, and how figures and dates are written on every page."""

import datetime as dt
import functools
from collections.abc import Mapping

import jinja2
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from prober import __version__
from prober.domain.account import Scope
from prober.report.harmless import harmless
from prober.report.wording import counted

SITE = "/ui"
STATIC = f"{SITE}/static"

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_STEPS = ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute"))

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    # Without a referrer browsers call a form's origin `null`, and nobody could tell ours from another site's.
    "Referrer-Policy": "same-origin",
}
"""Beside those of every answer of the service (`api.boundaries`)."""


def render(
    request: Request, name: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **facts: object
) -> HTMLResponse:
    """Render a page; `visitor` is whoever is logged in, None before."""
    visitor = getattr(request.state, "visitor", None)
    text = (
        _environment()
        .get_template(name)
        .render(visitor=visitor, now=request.app.state.pages.desk.clock.now(), path=request.url.path, **facts)
    )
    return HTMLResponse(text, status_code=status, headers={**_HEADERS, **(headers or {})})


def ago(moment: dt.datetime, now: dt.datetime) -> str:
    """Say how long before or after now, in its largest unit: `3 hours ago`, `in 12 minutes`, `just now`."""
    seconds = (now - moment).total_seconds()
    for size, name in _STEPS:
        if abs(seconds) >= size:
            words = counted(int(abs(seconds) // size), name)
            return f"{words} ago" if seconds > 0 else f"in {words}"
    return "just now" if seconds >= 0 else "within a minute"


def moment(date: dt.datetime) -> Markup:
    """Write a date to the second, in UTC, readable by machines too."""
    utc = date.astimezone(dt.UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        utc.isoformat(timespec="seconds"), utc.strftime("%Y-%m-%d %H:%M:%S UTC")
    )


def number(value: float | None) -> str:
    """Group digits; empty where nothing is known."""
    return "" if value is None else f"{value:,}"


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("prober.service.pages", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"ago": ago, "harmless": harmless, "moment": moment, "number": number, "counted": counted}
    environment.globals |= {"site": SITE, "static": STATIC, "version": __version__, "Scope": Scope}
    return environment
