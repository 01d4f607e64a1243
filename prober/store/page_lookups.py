"""What the pages ask the ledger beyond what the API does: limits over time, a run under way."""

import collections
import dataclasses
import datetime as dt
from collections.abc import Mapping

import sqlalchemy as sa

from prober.domain.outcome import Outcome
from prober.domain.target import Target
from prober.store.database import Database
from prober.store.schema.runs import observations, probes, runs
from prober.store.terms import campaign_under


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LimitPoint:
    """A target's limits as one run found them, in prompt tokens; None: not known by that run."""

    run_id: str
    started_at: dt.datetime
    context_tokens: int | None
    """Advertised, by the configuration of that time."""
    prefill_pool_tokens: int | None
    largest_served: int | None
    smallest_rejected: int | None
    first_wrong: int | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioProgress:
    """How far a run has come with one scenario."""

    scenario: str
    sent: int
    """Probes remembered, the calibration's too."""
    judged: Mapping[Outcome, int]


class PageLookups:
    """Reads the ledger. Raises LedgerError only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def limits(self, target: str, limit: int = 60) -> tuple[LimitPoint, ...]:
        """List what the latest runs knew of a target's limits, oldest first; runs that found none are left out."""
        found = (runs.c.largest_served, runs.c.smallest_rejected, runs.c.first_wrong)
        query = (
            sa.select(runs.c.run_id, runs.c.started_at, runs.c.terms, *found)
            .where(runs.c.target == target, sa.or_(*(column.is_not(None) for column in found)))
            .order_by(runs.c.started_at.desc(), runs.c.run_id)
            .limit(limit)
        )
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).all()
        return tuple(_limits(row, target) for row in reversed(rows))

    async def progress(self, run_id: str) -> tuple[ScenarioProgress, ...]:
        """Count what a run has sent and judged, by scenario, in the order in which they began."""
        query = (
            sa.select(probes.c.scenario, observations.c.outcome, sa.func.count(), sa.func.min(probes.c.id))
            .join_from(probes, observations, observations.c.probe_id == probes.c.id, isouter=True)
            .where(probes.c.run_id == run_id)
            .group_by(probes.c.scenario, observations.c.outcome)
        )
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).all()
        counted: dict[str, collections.Counter[Outcome | None]] = {}
        for scenario, outcome, number, _ in sorted(rows, key=lambda row: int(row[3])):
            counted.setdefault(scenario, collections.Counter())[outcome] += number
        return tuple(
            ScenarioProgress(
                scenario=scenario,
                sent=numbers.total(),
                judged={outcome: number for outcome, number in numbers.items() if outcome is not None},
            )
            for scenario, numbers in counted.items()
        )


def _limits(row: sa.Row[tuple[object, ...]], name: str) -> LimitPoint:
    facts = row._mapping  # noqa: SLF001 - SQLAlchemy's documented name for it
    target = campaign_under(facts["terms"], Target(name=name, model="", dialect="", context_tokens=0), {}).target
    return LimitPoint(
        run_id=facts["run_id"],
        started_at=facts["started_at"],
        context_tokens=target.context_tokens or None,
        prefill_pool_tokens=target.prefill_pool_tokens,
        largest_served=facts["largest_served"],
        smallest_rejected=facts["smallest_rejected"],
        first_wrong=facts["first_wrong"],
    )
