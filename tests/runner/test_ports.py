"""What a run gets that has neither budget nor vault."""

import dataclasses

from prober.domain.verdict import Spending
from prober.runner.ports import NoVault, Ports, Unlimited
from tests.support.ports import small_run


async def test_without_a_budget_everything_is_granted():
    """The lab costs nothing: no wave is refused, and nothing is counted."""
    budget, wanted = Unlimited(), {"alpha": Spending(requests=1, prompt_tokens=10**9, output_tokens=64)}
    run = small_run("baseline")

    assert await budget.shortages(run, wanted) == ()
    reservation = await budget.reserve(run, wanted)
    assert not isinstance(reservation, tuple)
    assert reservation.target == run.campaign.target.name
    assert reservation.expenses == {}
    await budget.settle(reservation, wanted)


async def test_without_a_vault_nothing_is_kept():
    """A run is judged the same; foreign text goes nowhere. Both are what a run gets that was given neither."""
    defaults = {field.name: field.default_factory for field in dataclasses.fields(Ports)}

    assert await NoVault().keep(small_run("baseline"), None, ()) is None  # type: ignore[arg-type] - it looks at nothing
    assert (defaults["budget"], defaults["vault"]) == (Unlimited, NoVault)
