"""Clusters with a name: what `prober lab serve --scene` starts, and what demo and self-test run against."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from prober.domain.errors import LabError
from prober.lab.faults import Fix, RouterMode
from prober.lab.settings import FAST_LINK_SECONDS, Honesty, LabSettings, Topology, preset

_VULNERABLE = dataclasses.replace(preset("0.5.19").apply(LabSettings()), router=RouterMode.DECODE_ONLY)
_RETIRED = preset("0.5.20").apply(LabSettings())
_FIXED = preset("0.5.21").apply(LabSettings())
_TRUNCATING = dataclasses.replace(_FIXED, auto_truncate=True)
_AGGREGATED = dataclasses.replace(_FIXED, topology=Topology.AGGREGATED)

_DECODE_ONLY = RouterMode.DECODE_ONLY
_JOIN = RouterMode.JOIN
_CANCEL = RouterMode.CANCEL_ON_REFUSAL

HONEST_FAILINGS = Honesty(
    copy_error_rate=0.02,
    recall_miss_head=0.02,
    recall_miss_middle=0.05,
    recall_miss_end=0.01,
    refusal_rate=0.03,
    timing_noise=1.0,
)
"""How honest LLMs and real endpoints fall short: per-word copy errors, recall misses, refusals, timing spread."""

VAST_POOL_TOKENS = 4_400_128
"""A decode pool that a self-test does not get through once: what is not yet written in it reads as zeros."""


def _noisy(settings: LabSettings) -> LabSettings:
    """Honest failings, on a link that does not hide the noise of the prefill."""
    return dataclasses.replace(settings, honesty=HONEST_FAILINGS, transfer_seconds_per_token=FAST_LINK_SECONDS)


def _symmetric(settings: LabSettings) -> LabSettings:
    return dataclasses.replace(settings, decode_pool_tokens=settings.prefill_pool_tokens)


def _checked(settings: LabSettings) -> LabSettings:
    return dataclasses.replace(settings, fixes=settings.fixes | {Fix.TRANSFER_CHECKSUM})


SCENES: Mapping[str, LabSettings] = MappingProxyType(
    {
        "incident": _VULNERABLE,
        "incident-joining-router": dataclasses.replace(_VULNERABLE, router=_JOIN),
        "incident-cancelling-router": dataclasses.replace(_VULNERABLE, router=_CANCEL),
        "incident-checksum": _checked(_VULNERABLE),
        "incident-noisy": _noisy(_VULNERABLE),
        "zero-pools": dataclasses.replace(_VULNERABLE, decode_pool_tokens=VAST_POOL_TOKENS),
        "symmetric-pools": _symmetric(_VULNERABLE),
        "fixed-0.5.20": _RETIRED,
        "fixed-0.5.20-hanging-router": dataclasses.replace(_RETIRED, router=_DECODE_ONLY),
        "fixed-0.5.20-joining-router": dataclasses.replace(_RETIRED, router=_JOIN),
        "fixed": _FIXED,
        "fixed-hanging-router": dataclasses.replace(_FIXED, router=_DECODE_ONLY),
        "fixed-joining-router": dataclasses.replace(_FIXED, router=_JOIN),
        "auto-truncate": _TRUNCATING,
        "auto-truncate-checksum": _checked(_TRUNCATING),
        "auto-truncate-symmetric": _symmetric(_TRUNCATING),
        "aggregated": _AGGREGATED,
        "aggregated-0.5.19": dataclasses.replace(_VULNERABLE, topology=Topology.AGGREGATED),
        "aggregated-truncating": dataclasses.replace(_AGGREGATED, auto_truncate=True),
        "healthy": _noisy(_FIXED),
    }
)
"""All at the incident's sizes. Which answer a client gets from which switches: docs/lab.md."""


def stage_scene(name: str, *, shrink: int = 1, time_scale: float | None = None) -> LabSettings:
    """Settings of a scene, its sizes divided.

    Args:
        name: one of `SCENES`.
        shrink: divisor of context and pools, which stay whole pages. Prefill takes as long per token as ever, so a
            short prompt is mostly fixed cost: what timing can tell shows at full size only.
        time_scale: real seconds per virtual second; None: as the scene has it.

    Raises:
        LabError: no such scene, or nothing of a cluster is left at that size.
    """
    if name not in SCENES:
        raise LabError(f"no scene {name!r}; there are: {', '.join(SCENES)}")
    scene = SCENES[name]

    def shrunk(tokens: int) -> int:
        return tokens // shrink // scene.page_tokens * scene.page_tokens

    try:
        return dataclasses.replace(
            scene,
            context_tokens=scene.context_tokens // shrink,
            prefill_pool_tokens=shrunk(scene.prefill_pool_tokens),
            decode_pool_tokens=shrunk(scene.decode_pool_tokens),
            time_scale=scene.time_scale if time_scale is None else time_scale,
        )
    except ValueError as error:
        raise LabError(f"scene {name!r} cannot be shrunk by {shrink} with time scale {time_scale}: {error}") from None
