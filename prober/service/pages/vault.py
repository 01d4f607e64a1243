"""The vault's page: the only one that shows foreign text, for a reason, to a scope of its own."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from prober.domain.account import Scope
from prober.domain.errors import VaultError
from prober.report.harmless import harmless_throughout
from prober.service.pages.access import Denied, form, number_of, page, ports_of
from prober.service.pages.rendering import render
from prober.store.rows import StoredFinding

LEAST_REASON, MOST_REASON = 4, 500


@page(Scope.VAULT)
async def ask(request: Request) -> Response:
    """Ask for the reason."""
    return render(request, "vault.html", stored=await _there(request), excerpts=None)


@form(Scope.VAULT)
async def show(request: Request, fields: Mapping[str, str]) -> Response:
    """Show what is kept; that it was read, by whom and why, is logged before it is opened."""
    stored, reason = await _there(request), fields.get("reason", "").strip()
    if not LEAST_REASON <= len(reason) <= MOST_REASON or not reason.isprintable():
        why = f"Write in one line of {LEAST_REASON} to {MOST_REASON} characters why it must be read."
        raise Denied(422, "A reason is needed", why)
    try:
        excerpts = await ports_of(request).desk.vault.show(stored.finding_id, request.state.visitor.name, reason)
    except VaultError:
        detail = (
            "The service has no vault key, another one, or what is stored was tampered with. The attempt is logged."
        )
        raise Denied(503, "No key opens this evidence", detail) from None
    return render(request, "vault.html", stored=stored, excerpts=harmless_throughout(tuple(excerpts)), reason=reason)


async def _there(request: Request) -> StoredFinding:
    stored = await ports_of(request).desk.lookups.finding(number_of(request, "finding_id"))
    if stored is None:
        raise Denied(404, "No such finding", "It was never made, or is no longer kept.")
    return harmless_throughout(stored)
