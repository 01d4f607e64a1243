"""Who is let in."""

import pytest

from prober.domain.account import Scope
from prober.store.database import Database
from tests.support.api import V1, Served, served
from tests.support.ledger import SettableClock

WRONG = f"iprb_{'a' * 16}_{'b' * 52}"


@pytest.fixture
def strict(sqlite_database: Database, clock: SettableClock) -> Served:
    """Few requests, few wrong tokens."""
    return served(sqlite_database, clock, settings={"requests_per_minute": 3, "failed_logins_per_minute": 2})


async def test_no_token_is_told_how_to_log_in(api: Served):
    """401 with a challenge (RFC 6750, section 3), and no hint at what there is."""
    answered = await api.client().get(f"{V1}/runs")
    assert answered.status_code == 401
    assert answered.headers["www-authenticate"] == 'Bearer realm="isolation-prober"'
    assert answered.json()["type"] == "urn:isolation-prober:problem:unauthenticated"


async def test_wrong_revoked_and_expired_tokens_look_alike(api: Served):
    """Nobody learns from an answer that a token was one once."""
    revoked = await api.tokens.create("revoked", [Scope.READ])
    await api.tokens.revoke("revoked")
    expired = await api.tokens.create("expired", [Scope.READ], api.clock.now().replace(hour=13))
    api.clock.advance(3_600)
    answers = [await api.client(secret).get(f"{V1}/runs") for secret in (WRONG, revoked, expired)]
    assert {answered.status_code for answered in answers} == {401}
    assert len({(answered.text, answered.headers["www-authenticate"]) for answered in answers}) == 1


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic YTpi", "bearer\txyz", f"Token {WRONG}", "Bearer é"])
async def test_a_header_of_another_form_is_no_token(api: Served, header: str):
    """401, whatever stands there."""
    answered = await api.client().get(f"{V1}/runs", headers={"Authorization": header.encode()})
    assert answered.status_code == 401


async def test_a_scope_that_lacks_is_named(api: Served):
    """403 says which one, in the body and in the challenge (RFC 6750, section 3.1)."""
    async with await api.caller(Scope.READ) as client:
        answered = await client.post(f"{V1}/runs", json={"target": "staging"})
    assert answered.status_code == 403
    assert answered.json()["detail"] == "It needs the scope run."
    assert 'error="insufficient_scope", scope="run"' in answered.headers["www-authenticate"]


async def test_a_token_in_the_address_is_not_looked_at(api: Served):
    """Addresses are logged by proxies; a token there must not work, or somebody would put it there."""
    secret = await api.tokens.create("ci", [Scope.READ])
    answered = await api.client().get(f"{V1}/runs", params={"access_token": secret, "token": secret})
    assert answered.status_code == 401


async def test_a_token_that_asks_too_often_must_wait(strict: Served):
    """429 with whole seconds in Retry-After, after which it is let in again; other tokens are not kept waiting."""
    client, other = await strict.caller(Scope.READ), await strict.caller(Scope.READ, name="other")
    answers = [await client.get(f"{V1}/targets") for _ in range(4)]
    assert [answered.status_code for answered in answers] == [200, 200, 200, 429]
    assert answers[3].json()["type"].endswith(":too-many-requests")
    assert (await other.get(f"{V1}/targets")).status_code == 200
    strict.clock.advance(int(answers[3].headers["retry-after"]))
    assert (await client.get(f"{V1}/targets")).status_code == 200


async def test_requests_without_the_scope_count_too(strict: Served):
    """Somebody with a weak token cannot hammer on what it does not permit."""
    client = await strict.caller(Scope.RUN)
    answers = [await client.get(f"{V1}/targets") for _ in range(4)]
    assert [answered.status_code for answered in answers] == [403, 403, 403, 429]


async def test_wrong_tokens_are_counted_by_address(strict: Served):
    """The third in a minute gets 429 with Retry-After; another address gets its own two."""
    answers = [await strict.client(WRONG).get(f"{V1}/runs") for _ in range(3)]
    assert [answered.status_code for answered in answers] == [401, 401, 429]
    assert int(answers[2].headers["retry-after"]) <= 30
    assert (await strict.client(WRONG, address="198.51.100.1").get(f"{V1}/runs")).status_code == 401


async def test_one_ipv6_site_is_one_address(strict: Served):
    """A site holds 2**64 addresses at least: each of them with a bucket would be no limit."""
    for last in ("1", "2"):
        await strict.client(WRONG, address=f"2001:db8::{last}").get(f"{V1}/runs")
    assert (await strict.client(WRONG, address="2001:db8::ffff").get(f"{V1}/runs")).status_code == 429
    assert (await strict.client(WRONG, address="2001:db8:0:1::1").get(f"{V1}/runs")).status_code == 401


async def test_others_failures_lock_nobody_out(strict: Served):
    """Behind one proxy stand many: a pipeline with a revoked token must not blind the others."""
    live = await strict.caller(Scope.READ)
    for _ in range(5):
        await strict.client(WRONG).get(f"{V1}/runs")
    assert (await live.get(f"{V1}/targets")).status_code == 200


async def test_a_caller_without_an_address_is_limited_too(strict: Served):
    """As over a Unix socket, where all callers look alike."""
    answers = [await strict.client(WRONG, address="").get(f"{V1}/runs") for _ in range(3)]
    assert [answered.status_code for answered in answers] == [401, 401, 429]
