"""Log in with an API token, log out."""

import urllib.parse
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from prober.domain.account import Scope
from prober.service.pages.access import COOKIE, Denied, fields_of, form, ports_of, require_own_origin, turnstile_of
from prober.service.pages.rendering import SITE, render
from prober.store.sessions import LONGEST

_MOST_SECRET = 200


async def show(request: Request) -> Response:
    """Ask for a token."""
    return render(request, "login.html", next=_local(request.query_params.get("next", "")), error="")


async def log_in(request: Request) -> Response:
    """Open a session for the holder of a live token, and go where they wanted to."""
    require_own_origin(request)
    fields, ports = await fields_of(request), ports_of(request)
    wanted = _local(fields.get("next", ""))
    secret = fields.get("token", "").strip()
    token = await ports.desk.tokens.verify(secret) if 0 < len(secret) <= _MOST_SECRET else None
    if token is None:
        turnstile_of(request).count_failure(request)
        return render(
            request, "login.html", status=401, next=wanted, error="This token is unknown, revoked or expired."
        )
    if not token.permits([Scope.READ]):
        raise Denied(403, "Your token does not permit this", "Pages need a token with the scope read.")
    session = await ports.sessions.open(token)
    response = RedirectResponse(wanted, status_code=303)
    response.set_cookie(
        COOKIE,
        session,
        max_age=int(LONGEST.total_seconds()),
        path=SITE,
        secure=ports.desk.settings.pages_over_tls,
        httponly=True,
        samesite="lax",
    )
    return response


@form(Scope.READ)
async def log_out(request: Request, fields: Mapping[str, str]) -> Response:
    """End the session."""
    del fields
    await ports_of(request).sessions.close(request.cookies[COOKIE])
    response = RedirectResponse(f"{SITE}/login", status_code=303)
    response.delete_cookie(COOKIE, path=SITE, httponly=True, samesite="lax")
    return response


def _local(address: str) -> str:
    """Keep to our own pages: an address elsewhere would make the login a springboard."""
    parts = urllib.parse.urlsplit(address)
    is_ours = not parts.scheme and not parts.netloc and parts.path.startswith(f"{SITE}/") and "\\" not in address
    return address if is_ours and address.isprintable() and "//" not in parts.path else f"{SITE}/"
