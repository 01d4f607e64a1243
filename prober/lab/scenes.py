"""Clusters with a name: what `prober lab serve --scene` starts, and what demo and self-test run against."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from prober.domain.errors import LabError
from prober.lab.fixes import Fix, RouterMode
from prober.lab.gateway_settings import GatewaySettings
from prober.lab.limits import largest_input
from prober.lab.settings import FAST_LINK_SECONDS, Honesty, LabSettings, Topology, preset
from prober.lab.usage import UsageStyle

_VULNERABLE = dataclasses.replace(preset("0.5.19").apply(LabSettings()), router=RouterMode.DECODE_ONLY)
_RETIRED = preset("0.5.20").apply(LabSettings())
_FIXED = preset("0.5.21").apply(LabSettings())
_TRUNCATING = dataclasses.replace(_FIXED, auto_truncate=True)
_AGGREGATED = dataclasses.replace(_FIXED, topology=Topology.AGGREGATED)

_SMALL = LabSettings(
    topology=Topology.AGGREGATED,
    context_tokens=8_192,
    prefill_pool_tokens=32_768,
    decode_pool_tokens=32_768,
    page_tokens=16,
    chunked_prefill_tokens=512,
    time_scale=1 / 300,
    waiting_timeout_seconds=1_200.0,
    release_timeout_seconds=300.0,
)
_SMALL_DISAGGREGATED = dataclasses.replace(
    _SMALL,
    topology=Topology.DISAGGREGATED,
    context_tokens=16_384,
    prefill_pool_tokens=10_624,
    decode_pool_tokens=17_152,
    page_tokens=64,
    chunked_prefill_tokens=1_024,
)

# Six conversations of 2,000 tokens do not fit the device together, a host tier holds four of them, and less than one is
# staged at a time.
_SMALL_CACHED = dataclasses.replace(_SMALL, prefix_cache=True, prefill_pool_tokens=10_240, decode_pool_tokens=10_240)
_SMALL_TIERED = dataclasses.replace(_SMALL_CACHED, host_tokens=8_192, disk_tokens=131_072, staging_tokens=1_792)

_SMALL_BATCHED = dataclasses.replace(_SMALL, max_running=6)
_THINKING = Honesty(reasoning_words=40)

_GATEWAY = dataclasses.replace(_SMALL, backends=2)
_LITE = dataclasses.replace(
    _SMALL,
    model="lab-llm-lite",
    version="0.5.19",
    preamble="You answer from the text that follows and from nothing else, and say so where it does not tell.",
    context_tokens=4_096,
    page_tokens=8,
    honesty=Honesty(copy_error_rate=0.2, recall_miss_head=0.7, recall_miss_middle=0.7, recall_miss_end=0.5),
)
"""Another build of another LLM: half the context, and much worse at finding things."""
_GROUPS = dataclasses.replace(_GATEWAY, other_groups=(_LITE,))
_SMALL_CONGESTED = dataclasses.replace(
    _SMALL_DISAGGREGATED,
    decode_pool_tokens=9_216,
    transfer_seconds_per_token=0.001,
    chunked_prefill_tokens=256,
    unacknowledged_seconds=1.0,
    abort_notice_seconds=60.0,
    time_scale=1 / 30,
    waiting_timeout_seconds=90.0,
)
_SMALL_WATCHFUL = dataclasses.replace(_SMALL_CONGESTED, abort_notice_seconds=0.2)
_SMALL_PULLING = dataclasses.replace(
    _SMALL_DISAGGREGATED, prefill_pool_tokens=1_536, transfer_seconds_per_token=0.2, waiting_timeout_seconds=300.0
)

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

EVERY_HONEST_FAILING = dataclasses.replace(
    HONEST_FAILINGS,
    copy_error_rate=0.004,
    recall_miss_head=0.003,
    recall_miss_middle=0.006,
    recall_miss_end=0.003,
    refusal_rate=0.003,
    paraphrase_rate=0.05,
    looping_rate=0.003,
    overthinking_rate=0.003,
    batch_variation_rate=0.05,
    load_failure_rate=0.5,
    queue_rate=0.05,
    slow_tail_rate=0.005,
)
"""All of them at once, each at least 50 times among 20,000 probes; two probes in a hundred are inconclusive by them.

Detectors take it for honest when one answer in twenty misses what was asked for (docs/detection.md, CUSUMs): here a
phrase of six words is copied wrong in 2.4 %, and forgotten in less than 1 %."""

_QUEUE_REAL_SECONDS, _SLOW_TAIL_REAL_SECONDS, _BURST_REAL_SECONDS = 0.15, 2.0, 0.05
_BURST_RATE = 0.002
"""Bursts refuse about one request in two hundred: each one to eight of them, as many as come at once."""
_LOSS_RATE = 0.01
_FLAKY_LOSS_RATE = 0.3
"""Where another model group takes over what was lost twice: one request in eleven."""

VAST_POOL_TOKENS = 4_400_128
"""A decode pool that a self-test does not get through once: what is not yet written in it reads as zeros."""


def _noisy(settings: LabSettings) -> LabSettings:
    """Honest failings, on a link that does not hide the noise of the prefill."""
    return dataclasses.replace(settings, honesty=HONEST_FAILINGS, transfer_seconds_per_token=FAST_LINK_SECONDS)


def with_honest_failings(settings: LabSettings, seed: int = 0) -> LabSettings:
    """The same cluster, its other model groups included, as honest LLMs, machines and operators really behave.

    `seed` chooses how cached tokens are reported: one style per cluster. Failings that the scene has already stay
    where they are worse.
    """
    styles, gateway = tuple(UsageStyle), settings.gateway
    honesty = dataclasses.replace(
        _worse(settings.honesty, EVERY_HONEST_FAILING),
        queue_seconds=_QUEUE_REAL_SECONDS / settings.time_scale,
        slow_tail_seconds=_SLOW_TAIL_REAL_SECONDS / settings.time_scale,
        usage_style=styles[seed % len(styles)],
    )
    return dataclasses.replace(
        settings,
        honesty=honesty,
        gateway=dataclasses.replace(
            gateway,
            burst_rate=_BURST_RATE,
            burst_seconds=_BURST_REAL_SECONDS / settings.time_scale,
            loss_rate=_FLAKY_LOSS_RATE if gateway.falls_back else _LOSS_RATE,
            retries=max(1, gateway.retries),
        ),
        other_groups=tuple(with_honest_failings(group, seed) for group in settings.other_groups),
    )


def _worse(one: Honesty, other: Honesty) -> Honesty:
    pairs = ((field.name, getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one))
    return Honesty(**{name: max(value, rival) for name, value, rival in pairs if isinstance(value, int | float)})


def _fronted(settings: LabSettings, gateway: GatewaySettings) -> LabSettings:
    return dataclasses.replace(settings, gateway=gateway)


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
        "small": _SMALL,
        "small-disaggregated": _SMALL_DISAGGREGATED,
        "small-congested": _SMALL_CONGESTED,
        "small-watchful": _SMALL_WATCHFUL,
        "small-pulling": _SMALL_PULLING,
        "small-cached": _SMALL_CACHED,
        "small-tiered": _SMALL_TIERED,
        "small-batched": _SMALL_BATCHED,
        "small-speculative": dataclasses.replace(_SMALL_BATCHED, accept_length=2.0),
        "small-overcommitted": dataclasses.replace(
            _SMALL_BATCHED, overcommit=True, prefill_pool_tokens=8_192, decode_pool_tokens=8_192
        ),
        "small-truncating": dataclasses.replace(_SMALL, auto_truncate=True),
        "small-thinking": dataclasses.replace(_SMALL, honesty=_THINKING),
        "small-batched-thinking": dataclasses.replace(_SMALL_BATCHED, honesty=_THINKING),
        "gateway": _GATEWAY,
        "gateway-caching": _fronted(_GATEWAY, GatewaySettings(cached_responses=256)),
        "gateway-batching": _fronted(_GATEWAY, GatewaySettings(tick_seconds=3.0)),
        "gateway-groups": _GROUPS,
        "gateway-lossy": _fronted(_GROUPS, GatewaySettings(loss_rate=0.1, retries=1, falls_back=True)),
        "gateway-pooled": _fronted(
            dataclasses.replace(_SMALL_CACHED, backends=2), GatewaySettings(pooled_credential=True)
        ),
    }
)
"""All at the incident's sizes. Which answer a client gets from which switches: docs/lab.md."""


def stage_scene(name: str, *, shrink: int = 1, time_scale: float | None = None) -> LabSettings:
    """Settings of a scene, its sizes divided.

    Args:
        name: one of `SCENES`.
        shrink: divisor of context, pools and tiers, which stay whole pages. Prefill takes as long per token as ever,
            so a short prompt is mostly fixed cost: what timing can tell shows at full size only.
        time_scale: real seconds per virtual second; None: as the scene has it.

    Raises:
        LabError: no such scene, or what decides would be lost at that size: room for a few pages, or the order of the
            limits.
    """
    if name not in SCENES:
        raise LabError(f"no scene {name!r}; there are: {', '.join(SCENES)}")
    try:
        return _staged(SCENES[name], shrink, time_scale)
    except ValueError as error:
        raise LabError(f"scene {name!r} cannot be shrunk by {shrink} with time scale {time_scale}: {error}") from None


def _limit_order(settings: LabSettings) -> tuple[bool, bool]:
    """Tell whether the prefill refuses prompts that decode would take, and whether the door would."""
    prefill, decode = (
        largest_input(settings.context_tokens, pool)
        for pool in (settings.prefill_pool_tokens, settings.decode_pool_tokens)
    )
    return prefill < decode, prefill < largest_input(settings.context_tokens, settings.context_tokens)


def _staged(scene: LabSettings, shrink: int, time_scale: float | None) -> LabSettings:
    def shrunk(tokens: int) -> int:
        return tokens // shrink // scene.page_tokens * scene.page_tokens

    staged = dataclasses.replace(
        scene,
        context_tokens=scene.context_tokens // shrink,
        prefill_pool_tokens=shrunk(scene.prefill_pool_tokens),
        decode_pool_tokens=shrunk(scene.decode_pool_tokens),
        host_tokens=shrunk(scene.host_tokens),
        disk_tokens=shrunk(scene.disk_tokens),
        other_groups=tuple(_staged(group, shrink, time_scale) for group in scene.other_groups),
        time_scale=scene.time_scale if time_scale is None else time_scale,
    )
    if _limit_order(staged) != _limit_order(scene):
        raise ValueError("its limits would no longer stand in the same order")
    return staged
