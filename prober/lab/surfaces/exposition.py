"""Prometheus text exposition, written by hand: the lab plays another project's exporter and its quirks.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/ (text format 0.0.4).
"""

import dataclasses
import enum
import math
from collections.abc import Iterable, Mapping

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_LABEL_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})


class Kind(enum.Enum):
    """Metric types in use."""

    GAUGE = "gauge"
    COUNTER = "counter"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One value with its labels."""

    labels: Mapping[str, str]
    value: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """All samples of one metric."""

    name: str
    kind: Kind
    help: str
    samples: tuple[Sample, ...]


def render(families: Iterable[Family]) -> str:
    """Render families in order; a family without samples keeps its header, as prometheus_client does."""
    return "".join(_family(family) for family in families)


def _family(family: Family) -> str:
    lines = [
        f"# HELP {family.name} {family.help.translate(_HELP_ESCAPES)}",
        f"# TYPE {family.name} {family.kind.value}",
        *(f"{family.name}{_labels(sample.labels)} {_number(sample.value)}" for sample in family.samples),
    ]
    return "".join(f"{line}\n" for line in lines)


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    pairs = (f'{name}="{value.translate(_LABEL_ESCAPES)}"' for name, value in labels.items())
    return "{" + ",".join(pairs) + "}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(float(value))
