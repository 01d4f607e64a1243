"""Clusters with a name: what `prober lab serve --scene` starts, and what demo and self-test run against."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from prober.lab.faults import RouterMode
from prober.lab.settings import Honesty, LabSettings, Topology, preset

_VULNERABLE = dataclasses.replace(preset("0.5.19").apply(LabSettings()), router=RouterMode.DECODE_ONLY)
_RETIRED = preset("0.5.20").apply(LabSettings())
_FIXED = preset("0.5.21").apply(LabSettings())

HONEST_FAILINGS = Honesty(
    copy_error_rate=0.02,
    recall_miss_head=0.02,
    recall_miss_middle=0.05,
    recall_miss_end=0.01,
    refusal_rate=0.03,
    timing_noise=1.0,
)
"""How honest LLMs and real endpoints fall short: per-word copy errors, recall misses, refusals, timing spread."""

SCENES: Mapping[str, LabSettings] = MappingProxyType(
    {
        "incident": _VULNERABLE,
        "fixed": _FIXED,
        "fixed-0.5.20": _RETIRED,
        "fixed-hanging-router": dataclasses.replace(_FIXED, router=RouterMode.DECODE_ONLY),
        "fixed-joining-router": dataclasses.replace(_FIXED, router=RouterMode.JOIN),
        "symmetric-pools": dataclasses.replace(_VULNERABLE, decode_pool_tokens=_VULNERABLE.prefill_pool_tokens),
        "auto-truncate": dataclasses.replace(_FIXED, auto_truncate=True),
        "aggregated": dataclasses.replace(_FIXED, topology=Topology.AGGREGATED),
        "aggregated-truncating": dataclasses.replace(_FIXED, topology=Topology.AGGREGATED, auto_truncate=True),
        "healthy": dataclasses.replace(_FIXED, honesty=HONEST_FAILINGS),
    }
)
"""All at the incident's sizes. Which answer a client gets from which switches: docs/lab.md."""
