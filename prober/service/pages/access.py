"""Who sees pages: whoever logged in with an API token, for a while; and that a form was sent from our own page."""

import dataclasses
import functools
import hashlib
import hmac
import re
import urllib.parse
from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from prober.domain.account import ApiToken, Scope, WebSession
from prober.service.api.access import Turnstile
from prober.service.api.parameters import LARGEST_ID
from prober.service.pages.ports import PagePorts
from prober.service.pages.rendering import SITE

COOKIE = "prober_session"
CSRF_FIELD = "csrf"
MOST_FIELDS = 20

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)

Page = Callable[[Request], Awaitable[Response]]
Form = Callable[[Request, Mapping[str, str]], Awaitable[Response]]


class Denied(Exception):  # noqa: N818 - what is told to whoever asked
    """Ends a request with a page that says why, in words of ours."""

    def __init__(self, status: int, title: str, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.title = title
        self.detail = detail
        self.headers = dict(headers or {})


@dataclasses.dataclass(frozen=True, slots=True)
class Visitor:
    """Whoever is logged in."""

    session: WebSession
    secret: str = dataclasses.field(repr=False)

    @property
    def token(self) -> ApiToken:
        """The token that they logged in with, as it stands now."""
        return self.session.token

    @property
    def name(self) -> str:
        """Its name, in which everything is done."""
        return self.token.name

    @property
    def scopes(self) -> str:
        """What it may do here, in words."""
        return ", ".join(scope.value for scope in Scope if self.may(scope)) or "nothing"

    def may(self, scope: Scope) -> bool:
        """Whether its token carries a scope."""
        return self.token.permits([scope])

    @property
    def csrf(self) -> str:
        """What every form of this session holds and nobody else can know (synchroniser token)."""
        return hmac.new(self.secret.encode(), b"csrf", hashlib.sha256).hexdigest()


def ports_of(request: Request) -> PagePorts:
    """Hand a page its ports."""
    ports: PagePorts = request.app.state.pages
    return ports


def turnstile_of(request: Request) -> Turnstile:
    """Hand a page what counts callers."""
    turnstile: Turnstile = request.app.state.turnstile
    return turnstile


def page(scope: Scope) -> Callable[[Page], Page]:
    """Show a page to whoever holds a scope; send others to the login."""

    def wrap(show: Page) -> Page:
        @functools.wraps(show)
        async def guarded(request: Request) -> Response:
            if await _visitor(request) is None:
                return _to_login(request)
            _require(request, scope)
            return await show(request)

        return guarded

    return wrap


def form(scope: Scope) -> Callable[[Form], Page]:
    """Take a form from whoever holds a scope, sent from a page of this very session."""

    def wrap(take: Form) -> Page:
        @functools.wraps(take)
        async def guarded(request: Request) -> Response:
            require_own_origin(request)
            visitor = await _visitor(request)
            if visitor is None:
                return _to_login(request)
            fields = await fields_of(request)
            if not hmac.compare_digest(fields.get(CSRF_FIELD, "").encode(), visitor.csrf.encode()):
                raise Denied(403, "Not sent from this page", "Its form is of another session. Load the page again.")
            _require(request, scope)
            return await take(request, fields)

        return guarded

    return wrap


def require_own_origin(request: Request) -> None:
    """Refuse a form that another site sent (OWASP ASVS 5.0, 3.5.1; Fetch Metadata)."""
    where = request.headers.get("sec-fetch-site", "same-origin")
    origin = request.headers.get("origin")
    is_ours = origin is None or urllib.parse.urlsplit(origin).netloc == request.headers.get("host")
    if where not in {"same-origin", "none"} or not is_ours:
        raise Denied(403, "Sent from another site", "Forms are taken from the prober's own pages alone.")


def named(value: str | None) -> str | None:
    """Take a name or id from an address; None where there is none, or what can be none of ours."""
    return value if value and _NAME.fullmatch(value) else None


def run_id_of(request: Request) -> str:
    """Take a run's or job's id from the path."""
    run_id = named(request.path_params["run_id"])
    if run_id is None:
        raise Denied(404, "No such run", "It was never begun, or is no longer kept.")
    return run_id


def number_of(request: Request, parameter: str) -> int:
    """Take the number of a finding or issue from the path."""
    number: int = request.path_params[parameter]
    if number > LARGEST_ID:
        raise Denied(404, "No such thing", "No database counts so far.")
    return number


async def fields_of(request: Request) -> dict[str, str]:
    """Read a form's fields; of one that stands twice the last."""
    try:
        text = (await request.body()).decode()
        return dict(urllib.parse.parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise Denied(422, "This form cannot be read", "Its fields are no form data.") from None


async def _visitor(request: Request) -> Visitor | None:
    secret = request.cookies.get(COOKIE, "")
    # What a page asks for by itself is no sign that anybody is there.
    is_used = "hx-request" not in request.headers
    session = await ports_of(request).sessions.find(secret, is_used=is_used) if secret else None
    if session is None:
        return None
    turnstile_of(request).count(session.token)
    request.state.visitor = visitor = Visitor(session, secret)
    return visitor


def _require(request: Request, scope: Scope) -> None:
    visitor: Visitor = request.state.visitor
    if not visitor.may(scope):
        detail = f"It needs a token with the scope {scope.value}; {visitor.name} has {visitor.scopes}."
        raise Denied(403, "Your token does not permit this", detail)


def _to_login(request: Request) -> Response:
    """Come back afterwards; what htmx refreshes by itself takes the whole page there."""
    here = request.url.path if request.method == "GET" else SITE + "/"
    query = f"?{request.url.query}" if request.method == "GET" and request.url.query else ""
    login = f"{SITE}/login?next={urllib.parse.quote(here + query, safe='')}"
    if "hx-request" in request.headers:
        back = request.headers.get("hx-current-url", "")
        back_to = urllib.parse.urlsplit(back).path or SITE + "/"
        return Response(headers={"HX-Redirect": f"{SITE}/login?next={urllib.parse.quote(back_to, safe='')}"})
    return RedirectResponse(login, status_code=303)
