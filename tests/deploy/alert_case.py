"""When each alert fires, when it does not, and when it is over: as `promtool test rules` is told."""

import dataclasses
from collections.abc import Mapping, Sequence

Labels = Mapping[str, str]

HERE = 'job="prober",instance="a"'
THERE = 'job="prober",instance="b"'
GLM = f'{HERE},target="glm"'
GLM_THERE = f'{THERE},target="glm"'
OF_GLM = {"job": "prober", "target": "glm"}
DAY = 24 * 60


@dataclasses.dataclass(frozen=True)
class Case:
    """One course of events."""

    alert: str
    why: str
    """What it shows, in a few words."""
    series: Mapping[str, str]
    """In promtool's notation; one sample per `interval`."""
    expected: Mapping[int, Sequence[Labels]]
    """Minute -> labels of what fires then, beside those that the rule adds."""
    interval: str = "1m"


def quiet_then(value: int, before: int = 30, during: int = 30, after: int = 60) -> str:
    """A gauge that is 0, then something, then 0 again."""
    return f"0x{before - 1} {value}x{during - 1} 0x{after}"
