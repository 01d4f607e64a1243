"""Who plays whom."""

import pytest

from prober.plan.casting import cast
from tests.support.scripted import tenants_of


@pytest.mark.parametrize(("tenants", "donors"), [(2, 1), (3, 1), (4, 2), (5, 2)])
def test_casting_never_mixes_donors_and_checkers(tenants: int, donors: int):
    """Every tenant has one part, donors and checkers both exist, and checkers are no fewer."""
    parts = cast(tenants_of(tenants))
    assert len(parts.donors) == donors
    assert (*parts.donors, *parts.checkers) == tenants_of(tenants)
