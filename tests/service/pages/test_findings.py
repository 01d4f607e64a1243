"""The evidence of a finding, as somebody hands it upstream."""

import dataclasses

import pytest

from prober.domain.account import Scope
from prober.report.facts import facts_of
from prober.report.wording import certainty
from prober.service.pages.findings import _floor, _picture
from tests.support.pages import Pages, end, found_leak
from tests.support.reports import a_leak, a_probe_summary, a_report, a_trace


async def shown(pages: Pages, *scopes: Scope) -> str:
    answered = await (await pages.visitor(*scopes)).get("/ui/findings/1")
    assert answered.status_code == 200
    return answered.text


async def test_evidence_names_owner_request_place_and_certainty(pages: Pages):
    """Whose text, from which request and words, how sure in bits and in words."""
    await end(pages, await found_leak(pages))
    text = await shown(pages)
    leak = a_leak()
    assert certainty(leak.evidence_bits) in text
    assert "t0002-p00000004d" in text
    assert "108 to 135" in text
    assert "bravo" in text


async def test_the_exchange_is_told_with_its_ids(pages: Pages):
    """Request id, status, hash and length of the text, and its course to scale."""
    await end(pages, await found_leak(pages))
    text = await shown(pages)
    assert "X-Request-Id" in text
    assert "SHA-256" in text
    assert "Timeline of the exchange" in text


async def test_there_is_something_to_hand_on(pages: Pages):
    """Vendor report, script, JSON."""
    await end(pages, await found_leak(pages))
    text = await shown(pages)
    for name in ("vendor", "script", "json"):
        assert f'href="/ui/runs/run-1/report/{name}"' in text


async def test_before_the_run_has_ended_the_rest_is_promised(pages: Pages):
    """The finding itself is there at once."""
    await found_leak(pages)
    text = await shown(pages)
    assert "once the run has ended" in text
    assert "foreign_canary" in text


@pytest.mark.parametrize(("scope", "is_linked"), [(Scope.VAULT, True), (Scope.ADMIN, False)])
async def test_the_vault_is_shown_the_way_to_whoever_may(scope: Scope, is_linked: bool, pages: Pages):  # noqa: FBT001
    """Others are told which scope it takes."""
    await found_leak(pages)
    assert ('href="/ui/vault/1"' in await shown(pages, Scope.READ, scope)) is is_linked


def test_without_any_mark_nothing_is_drawn():
    """A request that never came back has no course."""
    blank = a_trace(body_acked_seconds=None, headers_seconds=None, last_token_seconds=None, end_seconds=None)
    probe = a_probe_summary(first_token_seconds=None, trace=blank)
    facts = facts_of(a_report())
    assert _picture(probe, facts) is None
    assert _floor(probe, facts) is None
    assert _picture(dataclasses.replace(probe, first_token_seconds=0.2), facts) is not None
