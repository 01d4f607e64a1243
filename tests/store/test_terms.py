"""What a run was made under, written down and read back."""

import dataclasses
import json

from prober.domain.target import Ask, OverlongContract, PhysicalBound, Target, TextForm
from prober.domain.tenant import Tenant
from prober.store.terms import campaign_under, terms_of
from tests.support.reports import a_campaign

NAMES = {"1": "alpha", "2": "bravo"}


def test_terms_come_back_whole():
    """Target and caps are those of the run, whatever the configuration says by now."""
    target = dataclasses.replace(
        a_campaign().target,
        overlong=OverlongContract.TRUNCATE,
        text_form=TextForm.NUMBERED_LINES,
        ask=Ask.END_PHRASE,
        shared=False,
        thinking=True,
        physical_bound=PhysicalBound(active_parameters=3.2e10, gpus=8, peak_flops_per_gpu=1e15, time_scale=0.5),
    )
    campaign = a_campaign(target=target, max_run_tokens=7, max_run_requests=9)
    stored = json.loads(json.dumps(terms_of(campaign)))
    bare = Target(name=target.name, model=target.model, build=target.build, dialect="", context_tokens=0)

    assert campaign_under(stored, bare, NAMES, *campaign.scenarios) == campaign


def test_a_run_without_terms_claims_none():
    """Runs of versions that wrote no terms have no dialect and no context, rather than made-up ones."""
    bare = Target(name="staging", model="llm", dialect="", context_tokens=0)
    campaign = campaign_under(None, bare, NAMES, "baseline")

    assert (campaign.target, campaign.scenarios) == (bare, ("baseline",))
    assert campaign.tenants == (Tenant(name="alpha", number=1), Tenant(name="bravo", number=2))


def test_no_address_or_credential_is_among_the_terms():
    """Every field of a target is written, has a column of its own, or is no fact of a report."""
    own_column = {"name", "model", "build"}

    assert (
        set(terms_of(a_campaign())) - {"max_run_tokens", "max_run_requests"}
        == {field.name for field in dataclasses.fields(Target)} - own_column
    )
