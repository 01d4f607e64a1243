"""What an API token permits, and when."""

import datetime as dt

import pytest

from prober.domain.account import ApiToken, Scope

NOW = dt.datetime(2026, 9, 1, 12, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)


def a_token(**changes: object) -> ApiToken:
    wanted = {"token_id": "a", "name": "ci", "scopes": frozenset({Scope.READ, Scope.RUN}), "created_at": NOW}
    return ApiToken(**{**wanted, **changes})


@pytest.mark.parametrize(
    ("changes", "is_live"),
    [
        ({}, True),
        ({"expires_at": NOW + SECOND}, True),
        ({"expires_at": NOW}, False),
        ({"expires_at": NOW - SECOND}, False),
        ({"revoked_at": NOW}, False),
        ({"revoked_at": NOW - SECOND, "expires_at": NOW + SECOND}, False),
    ],
)
def test_a_token_lives_until_it_is_revoked_or_expires(changes: dict[str, dt.datetime], is_live: bool):  # noqa: FBT001
    """Neither revocation nor expiry is undone by the other; the moment of expiry is past the end."""
    assert a_token(**changes).is_live(NOW) is is_live


@pytest.mark.parametrize("scope", Scope)
def test_no_scope_holds_another(scope: Scope):
    """A token permits the scopes that it carries and no other one."""
    token = a_token(scopes=frozenset({scope}))
    assert [each for each in Scope if token.permits([each])] == [scope]


def test_all_scopes_asked_for_are_needed():
    """One of two is not enough."""
    assert a_token().permits([Scope.READ, Scope.RUN])
    assert not a_token().permits([Scope.READ, Scope.VAULT])
