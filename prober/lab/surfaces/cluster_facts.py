"""The cluster's facts, read with care: they come as plain values."""

from collections.abc import Mapping


def roles(facts: Mapping[str, object]) -> dict[str, Mapping[str, float]]:
    """Figures of each role's pool, by the role's name as SGLang labels it."""
    return {str(role): _numbers(figures) for role, figures in _mapping(facts.get("roles")).items()}


def counters(facts: Mapping[str, object]) -> Mapping[str, float]:
    """Counters since the start, of all clusters together."""
    return _numbers(facts.get("counters"))


def gateway_counters(facts: Mapping[str, object]) -> Mapping[str, float]:
    """Counters of the gateway itself."""
    return _numbers(facts.get("gateway"))


def _numbers(value: object) -> Mapping[str, float]:
    return {str(name): number for name, number in _mapping(value).items() if isinstance(number, int | float)}


def _mapping(value: object) -> Mapping[object, object]:
    return value if isinstance(value, Mapping) else {}
