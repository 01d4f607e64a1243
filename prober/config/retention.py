"""The configuration's section `retention`: how long what is kept, and how large the database may grow."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from prober.config.section import Section

Days = Annotated[int, Field(ge=1, le=36_500)]


class RetentionSettings(Section):
    """Ages in days. What is kept longer explains what is kept shorter, so the ages must not fall in this order."""

    observation_days: Days = 90
    """What came back for each probe, and CLEAN findings."""
    run_days: Days = 400
    """Runs, their canaries and INCONCLUSIVE findings."""
    finding_days: Days = 1_100
    """SUSPECT and VIOLATION findings, with run, probe and observation."""
    vault_days: Days = 30
    """Foreign text in the evidence vault."""
    max_mebibytes: Annotated[int, Field(ge=16, le=16_777_216)] = 4_096
    """Size of the database above which the oldest rows go before their time."""


_ORDER = (
    ("observation_days", "run_days"),
    ("run_days", "finding_days"),
    ("vault_days", "finding_days"),
)
"""The first of each pair is explained by the second."""


def retention_objections(retention: RetentionSettings) -> Iterator[tuple[tuple[str], str]]:
    """Yield ages that would delete what explains rows still kept: key, and what is wrong with it."""
    for shorter, longer in _ORDER:
        least = getattr(retention, shorter)
        if getattr(retention, longer) < least:
            yield (longer,), f"must not be below {shorter} ({least})"
