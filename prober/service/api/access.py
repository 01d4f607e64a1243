"""Who is let in: bearer tokens (RFC 6750), their scopes, and how often they may ask."""

import ipaddress
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes

from prober.config.serving import ApiSettings
from prober.domain.account import ApiToken, Scope
from prober.runner.ports import Clock
from prober.service.api.desk import Desk
from prober.service.api.problems import Problem, ProblemKind, too_many
from prober.service.api.rates import Rates

_CHALLENGE = 'Bearer realm="isolation-prober"'
_IPV6_SITE_BITS = 64
"""What one caller holds at least (RFC 6177): single addresses of a site would each have a bucket."""

_bearer = HTTPBearer(
    scheme_name="token",
    description="API token, made by `prober token create`. Each operation names the scope that it needs.",
    auto_error=False,
)


def desk_of(request: Request) -> Desk:
    """Hand a route its ports."""
    desk: Desk = request.app.state.desk
    return desk


AtDesk = Annotated[Desk, Depends(desk_of)]


class Turnstile:
    """Counts how often each token and each address asks. One per process: replicas count by themselves."""

    def __init__(self, settings: ApiSettings, clock: Clock) -> None:
        self._tokens = Rates(settings.requests_per_minute, clock)
        self._failures = Rates(settings.failed_logins_per_minute, clock)

    def count(self, token: ApiToken) -> None:
        """Count a request; raises the problem 429 where it is one too many."""
        wait = self._tokens.take(token.token_id)
        if wait:
            raise too_many("This token asks too often.", wait)

    def count_failure(self, request: Request) -> None:
        """Count a wrong token; raises the problem 429 where it is one too many from its address."""
        wait = self._failures.take(_address(request))
        if wait:
            raise too_many("Too many wrong tokens from this address.", wait)


async def admit(
    request: Request,
    scopes: SecurityScopes,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
    desk: AtDesk,
) -> ApiToken:
    """Let in who holds a live token with all these scopes.

    A wrong, a revoked and an expired token get the same answer. Wrong ones are counted by address; who holds a live one
    is let in whatever others did from the same address, since many may stand behind one proxy.

    Raises:
        Problem: 401, 403, or 429 with `Retry-After`.
    """
    if credentials is None:
        missing = {"WWW-Authenticate": _CHALLENGE}
        raise Problem(ProblemKind.UNAUTHENTICATED, "Send `Authorization: Bearer <token>`.", headers=missing)
    turnstile: Turnstile = request.app.state.turnstile
    token = await desk.tokens.verify(credentials.credentials)
    if token is None:
        turnstile.count_failure(request)
        wrong = {"WWW-Authenticate": f'{_CHALLENGE}, error="invalid_token"'}
        raise Problem(ProblemKind.UNAUTHENTICATED, "The token is unknown, revoked or expired.", headers=wrong)
    turnstile.count(token)
    if not token.permits(map(Scope, scopes.scopes)):
        needed = " ".join(scopes.scopes)
        challenge = {"WWW-Authenticate": f'{_CHALLENGE}, error="insufficient_scope", scope="{needed}"'}
        raise Problem(ProblemKind.SCOPE_MISSING, f"It needs the scope {needed}.", headers=challenge)
    return token


Reader = Annotated[ApiToken, Security(admit, scopes=[Scope.READ.value])]
Runner = Annotated[ApiToken, Security(admit, scopes=[Scope.RUN.value])]
Admin = Annotated[ApiToken, Security(admit, scopes=[Scope.ADMIN.value])]
EvidenceReader = Annotated[ApiToken, Security(admit, scopes=[Scope.VAULT.value])]


def _address(request: Request) -> str:
    """Name the caller's address; IPv6 by its site, and all without an address together."""
    host = "" if request.client is None else request.client.host
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.version == 4:  # noqa: PLR2004 - IPv4
        return str(address)
    return str(ipaddress.ip_network((address.packed, _IPV6_SITE_BITS), strict=False))
