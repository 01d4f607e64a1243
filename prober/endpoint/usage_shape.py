"""Token counts from wherever a server puts them; what is not reported stays None, which is not 0."""

from collections.abc import Mapping

from prober.domain.observation import Usage
from prober.endpoint.tolerant_json import as_count, as_map

_NOTHING = Usage()
_SOURCES = ("usage", "timings", "sglext")


def read_usage(fields: Mapping[str, object]) -> Usage | None:
    """Usage of a completion or chunk; None when it reports no count at all (`usage` missing, null or empty).

    Prompt tokens always include cached ones: servers that leave them out (Anthropic's names) are added up here.
    llama.cpp's `timings` stand in where `usage` is missing.
    """
    if not any(map(fields.get, _SOURCES)):
        # Nearly every chunk of a stream.
        return None
    usage = as_map(fields.get("usage"))
    timings = as_map(fields.get("timings"))
    read = Usage(
        prompt_tokens=_prompt_tokens(usage, timings),
        completion_tokens=_first_count(
            usage.get("completion_tokens"), usage.get("output_tokens"), timings.get("predicted_n")
        ),
        cached_tokens=_cached_tokens(usage, timings, as_map(fields.get("sglext"))),
        reasoning_tokens=_first_count(
            as_map(usage.get("completion_tokens_details")).get("reasoning_tokens"),
            as_map(usage.get("output_tokens_details")).get("reasoning_tokens"),
            usage.get("reasoning_tokens"),
        ),
    )
    return None if read == _NOTHING else read


def _prompt_tokens(usage: Mapping[str, object], timings: Mapping[str, object]) -> int | None:
    read = as_count(usage.get("prompt_tokens"))
    if read is not None:
        return read
    read = as_count(usage.get("input_tokens"))
    if read is not None:
        apart = (usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens"))
        return read + sum(as_count(count) or 0 for count in apart)
    computed, cached = as_count(timings.get("prompt_n")), as_count(timings.get("cache_n"))
    return None if computed is None or cached is None else computed + cached


def _cached_tokens(
    usage: Mapping[str, object],
    timings: Mapping[str, object],
    sglang: Mapping[str, object],
) -> int | None:
    tiers = as_map(sglang.get("cached_tokens_details"))
    tier_counts = [count for count in (as_count(tiers.get(tier)) for tier in ("device", "host", "storage")) if count]
    return _first_count(
        as_map(usage.get("prompt_tokens_details")).get("cached_tokens"),
        as_map(usage.get("input_tokens_details")).get("cached_tokens"),
        usage.get("cached_tokens"),
        usage.get("cache_read_input_tokens"),
        usage.get("prompt_cache_hit_tokens"),
        timings.get("cache_n"),
        sum(tier_counts) if tiers else None,
    )


def _first_count(*values: object) -> int | None:
    return next((count for count in map(as_count, values) if count is not None), None)
