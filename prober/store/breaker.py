"""Did a target answer anything lately? Read from stored runs: replicas agree, and restarts forget nothing."""

import sqlalchemy as sa

from prober.domain.breaker import RunHealth
from prober.plan.breaker import DOWN_ANSWERS, MOST_RUNS
from prober.store.database import Database
from prober.store.schema.runs import observations, probes, runs


class HealthRecord:
    """Reads how a target's latest runs went. Raises LedgerError only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def latest(self, target: str) -> tuple[RunHealth, ...]:
        """List a target's latest ended runs that sent anything, newest first, as many as the breaker looks at."""
        answers = sa.select(sa.literal(1)).join_from(probes, observations, observations.c.probe_id == probes.c.id)
        of_run = answers.where(probes.c.run_id == runs.c.run_id)
        query = (
            sa.select(
                runs.c.ended_at,
                sa.exists(of_run.where(observations.c.answer.not_in(sorted(DOWN_ANSWERS, key=_code)))).label(
                    "answered"
                ),
            )
            .where(runs.c.target == target, runs.c.ended_at.is_not(None), sa.exists(of_run))
            .order_by(runs.c.started_at.desc(), runs.c.run_id)
            .limit(MOST_RUNS)
        )
        async with self._database.read() as connection:
            return tuple(
                RunHealth(ended_at=row.ended_at, has_answered=bool(row.answered))
                for row in await connection.execute(query)
            )


def _code(answer: object) -> str:
    return str(getattr(answer, "value", answer))
