"""What a run was made under: the target as it was configured then, and the run's caps. Configurations change."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from prober.domain.campaign import Campaign
from prober.domain.target import Ask, OverlongContract, PhysicalBound, Target, TextForm
from prober.domain.tenant import Tenant


def terms_of(campaign: Campaign) -> dict[str, Any]:
    """Write them down, without what has columns of its own; no address and no credential is among them."""
    target = campaign.target
    bound = target.physical_bound
    return {
        "dialect": target.dialect,
        "context_tokens": target.context_tokens,
        "prefill_pool_tokens": target.prefill_pool_tokens,
        "decode_pool_tokens": target.decode_pool_tokens,
        "page_tokens": target.page_tokens,
        "overlong": target.overlong.value,
        "shared": target.shared,
        "text_form": target.text_form.value,
        "ask": target.ask.value,
        "temperature": target.temperature,
        "thinking": target.thinking,
        "hang_seconds": target.hang_seconds,
        "physical_bound": None if bound is None else dataclasses.asdict(bound),
        "max_run_tokens": campaign.max_run_tokens,
        "max_run_requests": campaign.max_run_requests,
    }


def campaign_under(
    terms: Mapping[str, Any] | None, target: Target, tenants: Mapping[str, str], *names: str
) -> Campaign:
    """Read them back.

    Args:
        terms: as written; None for a run of a version that wrote none.
        target: name, model and build; the rest is replaced as far as it was written down.
        tenants: number -> name.
        names: of the scenarios.
    """
    known = terms or {}
    bound = known.get("physical_bound")
    read = {
        "dialect": known.get("dialect", ""),
        # 0: nobody wrote it down.
        "context_tokens": known.get("context_tokens", 0),
        "overlong": OverlongContract(known.get("overlong", target.overlong.value)),
        "text_form": TextForm(known.get("text_form", target.text_form.value)),
        "ask": Ask(known.get("ask", target.ask.value)),
        "physical_bound": None if bound is None else PhysicalBound(**bound),
    }
    plain = ("prefill_pool_tokens", "decode_pool_tokens", "page_tokens", "shared", "temperature", "thinking")
    read |= {name: known[name] for name in (*plain, "hang_seconds") if name in known}
    caps = {name: known[name] for name in ("max_run_tokens", "max_run_requests") if name in known}
    return Campaign(
        target=dataclasses.replace(target, **read),
        tenants=tuple(Tenant(number=int(number), name=name) for number, name in tenants.items()),
        scenarios=names,
        **caps,
    )
