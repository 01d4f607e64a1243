"""The series of SGLang's `/metrics` that a prober's user alerts on (srt/metrics/collector.py, 0.5.23)."""

from collections.abc import Mapping

from prober.lab.settings import LabSettings, Topology
from prober.lab.surfaces.exposition import Family, Kind, Sample

RELEASE_OUTCOMES = ("drained", "timeout", "error")
"""A `timeout` means that pages were given away while a transfer could still write into them."""


def families(lab: LabSettings, facts: Mapping[str, object]) -> tuple[Family, ...]:
    """Build all series. Fixed sizes come from the settings, what moves comes from the cluster's facts."""
    roles = _roles(lab)
    return (
        _sizes("sglang:max_total_num_tokens", "Maximum total number of tokens in the KV cache pool.", lab, roles),
        _sizes("sglang:context_len", "Context length.", lab, dict.fromkeys(roles, lab.context_tokens)),
        _sizes("sglang:page_size", "Page size.", lab, dict.fromkeys(roles, lab.page_tokens)),
        _sizes(
            "sglang:num_pages",
            "Number of pages in the KV cache pool.",
            lab,
            {role: pool // lab.page_tokens for role, pool in roles.items()},
        ),
        *_moving(lab, facts, roles),
    )


def _moving(lab: LabSettings, facts: Mapping[str, object], roles: Mapping[str, int]) -> tuple[Family, ...]:
    available = {role: _number(facts, f"{role}_available_tokens") for role in roles}
    used = {role: pool - available[role] for role, pool in roles.items()}
    consumer = list(roles)[-1]
    releases = tuple(
        Sample(
            labels={**_labels(lab, consumer), "outcome": outcome},
            value=_number(facts, f"decode_deferred_kv_release_{outcome}"),
        )
        for outcome in RELEASE_OUTCOMES
    )
    return (
        _sizes("sglang:kv_available_tokens", "Free tokens in the KV cache pool.", lab, available),
        _sizes("sglang:kv_used_tokens", "Used tokens in the KV cache pool.", lab, used),
        _sizes("sglang:token_usage", "Token usage.", lab, {role: used[role] / pool for role, pool in roles.items()}),
        _counter(
            "sglang:num_transfer_failed_reqs_total",
            "Number of transfer failed requests.",
            lab,
            {role: _number(facts, "transfer_failed") for role in roles},
        ),
        _counter(
            "sglang:num_aborted_requests_total",
            "Number of aborted requests.",
            lab,
            {role: _number(facts, "aborted") for role in roles},
        ),
        Family(
            name="sglang:decode_deferred_kv_release_total",
            kind=Kind.COUNTER,
            help="Number of deferred KV releases by outcome.",
            samples=releases,
        ),
    )


def _roles(lab: LabSettings) -> dict[str, int]:
    if lab.topology is Topology.AGGREGATED:
        return {"unified": lab.prefill_pool_tokens}
    return {"prefill": lab.prefill_pool_tokens, "decode": lab.decode_pool_tokens}


def _labels(lab: LabSettings, role: str) -> dict[str, str]:
    return {"model_name": lab.model, "engine_type": role, "tp_rank": "0", "pp_rank": "0", "moe_ep_rank": "0"}


def _sizes(name: str, text: str, lab: LabSettings, values: Mapping[str, float]) -> Family:
    return Family(name=name, kind=Kind.GAUGE, help=text, samples=_samples(lab, values))


def _counter(name: str, text: str, lab: LabSettings, values: Mapping[str, float]) -> Family:
    return Family(name=name, kind=Kind.COUNTER, help=text, samples=_samples(lab, values))


def _samples(lab: LabSettings, values: Mapping[str, float]) -> tuple[Sample, ...]:
    return tuple(Sample(labels=_labels(lab, role), value=value) for role, value in values.items())


def _number(facts: Mapping[str, object], name: str) -> float:
    value = facts.get(name, 0)
    return float(value) if isinstance(value, int | float) else 0.0
