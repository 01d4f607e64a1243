"""The series of SGLang's `/metrics` that a prober's user alerts on (srt/metrics/collector.py, 0.5.23)."""

from collections.abc import Mapping

from prober.lab.settings import LabSettings
from prober.lab.surfaces import cluster_facts
from prober.lab.surfaces.exposition import Family, Kind, Sample

_GAUGES = (
    ("sglang:max_total_num_tokens", "max_total_num_tokens", "Maximum total number of tokens in the KV cache pool."),
    ("sglang:num_pages", "num_pages", "Number of pages in the KV cache pool."),
    ("sglang:kv_available_tokens", "available_tokens", "Free tokens in the KV cache pool."),
    ("sglang:kv_used_tokens", "used_tokens", "Used tokens in the KV cache pool."),
    ("sglang:num_queue_reqs", "waiting_requests", "The number of requests in the waiting queue."),
)
"""(series, figure of a role, help)"""

_COUNTERS = (
    ("sglang:num_transfer_failed_reqs_total", "transfer_failures", "Number of transfer failed requests."),
    ("sglang:num_bootstrap_failed_reqs_total", "bootstrap_failures", "Number of bootstrap failed requests."),
)

_RELEASES = {"drained": "deferred_releases_drained", "timeout": "deferred_releases_timeout", "error": ""}
"""A `timeout` means that pages were given away while a transfer could still write into them."""


def families(lab: LabSettings, facts: Mapping[str, object]) -> tuple[Family, ...]:
    """Build all series, each with all its label sets from the start."""
    roles = cluster_facts.roles(facts)
    counters = cluster_facts.counters(facts)
    sizes = {
        "sglang:context_len": ("Context length.", lab.context_tokens),
        "sglang:page_size": ("Page size.", lab.page_tokens),
    }
    return (
        *(
            _family(lab, name, Kind.GAUGE, text, {role: figures.get(figure, 0) for role, figures in roles.items()})
            for name, figure, text in _GAUGES
        ),
        *(_family(lab, name, Kind.GAUGE, text, dict.fromkeys(roles, value)) for name, (text, value) in sizes.items()),
        _family(lab, "sglang:token_usage", Kind.GAUGE, "Token usage.", {role: _usage(roles[role]) for role in roles}),
        *(
            _family(lab, name, Kind.COUNTER, text, dict.fromkeys(roles, counters.get(counter, 0)))
            for name, counter, text in _COUNTERS
        ),
        _releases(lab, roles, counters),
    )


def _usage(figures: Mapping[str, float]) -> float:
    return figures.get("used_tokens", 0) / max(figures.get("max_total_num_tokens", 0), 1)


def _releases(lab: LabSettings, roles: Mapping[str, object], counters: Mapping[str, float]) -> Family:
    samples = tuple(
        Sample(labels={**_labels(lab, role), "outcome": outcome}, value=counters.get(counter, 0))
        for role in roles
        if role == "decode"
        for outcome, counter in _RELEASES.items()
    )
    return Family(
        name="sglang:decode_deferred_kv_release_total",
        kind=Kind.COUNTER,
        help="Number of deferred KV releases by outcome.",
        samples=samples,
    )


def _family(lab: LabSettings, name: str, kind: Kind, text: str, values: Mapping[str, float]) -> Family:
    samples = tuple(Sample(labels=_labels(lab, role), value=value) for role, value in values.items())
    return Family(name=name, kind=kind, help=text, samples=samples)


def _labels(lab: LabSettings, role: str) -> dict[str, str]:
    return {"model_name": lab.model, "engine_type": role, "tp_rank": "0", "pp_rank": "0", "moe_ep_rank": "0"}
