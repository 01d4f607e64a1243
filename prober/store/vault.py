"""The evidence vault: the only place that keeps foreign text, encrypted; every read is logged before it happens."""

import dataclasses
import datetime as dt
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.campaign import Run
from prober.domain.errors import ConfigError, LedgerError, VaultError
from prober.domain.evidence import Judgement
from prober.domain.excerpt import Excerpt, ExcerptBounds
from prober.domain.outcome import Outcome
from prober.domain.vault_keyring import VaultKeyring
from prober.domain.vault_log import VaultAct, VaultEntry
from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.rows import clip
from prober.store.schema.runs import findings, probes
from prober.store.schema.vault import REASON_LENGTH, vault_excerpts, vault_log
from prober.store.vault_cipher import VaultCipher
from prober.store.vault_rows import StoredExcerpt, excerpt_row, opened, place_of, sealed_of, sealed_row

MAX_PURGED_TOGETHER = 500
MAX_ROTATED_TOGETHER = 100
"""Rows of one transaction: other writers wait for its end."""

NO_KEY = "the configuration names no vault key, so that there is nothing to open or seal with"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """What a rotation did."""

    renewed: int
    """Excerpts that are now under the key in force."""
    unreadable: int
    """Left as they are: their key is not on the ring, or their row was tampered with."""


class Vault:
    """`runner.ports.Vault` on SQLite or PostgreSQL. Without a keyring only hashes and lengths are kept.

    An answer's excerpts are kept once, under the weightiest finding of its probe; every finding of that probe leads to
    them. Methods raise LedgerError where the database fails.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        keyring: VaultKeyring | None = None,
        bounds: ExcerptBounds = ExcerptBounds(),  # noqa: B008 - frozen
    ) -> None:
        self._database = database
        self._clock = clock
        self._cipher = None if keyring is None else VaultCipher(keyring)
        self._bounds = bounds

    def __repr__(self) -> str:
        """Name the key's id only."""
        return f"Vault(key={None if self._cipher is None else self._cipher.key_id})"

    @property
    def bounds(self) -> ExcerptBounds:
        """How much may be kept."""
        return self._bounds

    async def keep(
        self, run: Run, judgement: Judgement, excerpts: Sequence[Excerpt], *, is_repeat: bool = False
    ) -> None:
        """Keep what a recorded answer holds of foreign text.

        Args:
            run: as recorded.
            judgement: as recorded.
            excerpts: of its answer, at least one.
            is_repeat: the same was attempted before, and may stand: then nothing is added.

        Raises:
            LedgerError: also where the ledger holds no SUSPECT or VIOLATION finding of this answer.
        """
        now = self._clock.now()
        async with self._database.begin() as connection:
            finding_id = await _weightiest_finding(connection, run.run_id, judgement)
            if is_repeat and await _is_kept(connection, finding_id):
                return
            rows = [
                excerpt_row(finding_id, run.run_id, ordinal, excerpt, now, self._cipher)
                for ordinal, excerpt in enumerate(excerpts)
            ]
            await connection.execute(sa.insert(vault_excerpts), rows)

    async def show(self, finding_id: int, who: str, why: str) -> tuple[StoredExcerpt, ...]:
        """Open what is kept for a finding; empty where nothing is. The read is logged, committed, then it happens.

        Raises:
            ConfigError: nobody reads it, or for no reason.
            VaultError: no key, not the key, or not what was stored. The attempt stays logged.
        """
        if not who.strip() or not why.strip():
            raise ConfigError("say who reads the vault, and why")
        async with self._database.begin() as connection:
            rows = (await connection.execute(_OF_FINDING.where(_leads_to(finding_id)))).all()
            await self._write_down(connection, VaultAct.READ, who, why, finding_id, len(rows))
        return tuple(opened(row, self._cipher) for row in rows)

    async def purge(
        self, who: str, why: str = "", *, finding_id: int | None = None, older_than: dt.timedelta | None = None
    ) -> int:
        """Delete what is kept for a finding, or is older, or both; all of it where neither is given.

        Returns:
            How many excerpts are gone.
        """
        wanted: sa.ColumnElement[bool] = sa.true()
        if finding_id is not None:
            wanted &= _leads_to(finding_id)
        if older_than is not None:
            wanted &= vault_excerpts.c.kept_at <= self._clock.now() - older_than
        batch = sa.select(vault_excerpts.c.id).where(wanted).order_by(vault_excerpts.c.id).limit(MAX_PURGED_TOGETHER)
        total = 0
        while True:
            async with self._database.begin() as connection:
                ids = (await connection.execute(batch)).scalars().all()
                if ids:
                    await connection.execute(sa.delete(vault_excerpts).where(vault_excerpts.c.id.in_(ids)))
                # With each batch: a purge that is killed half-way has told of all that it deleted.
                if ids or not total:
                    await self._write_down(connection, VaultAct.PURGED, who, why, finding_id, len(ids))
            total += len(ids)
            if len(ids) < MAX_PURGED_TOGETHER:
                return total

    async def rotate(self, who: str, why: str = "") -> Rotation:
        """Seal everything anew under the key in force; what cannot be opened stays as it is.

        Raises:
            VaultError: no key is configured.
        """
        if self._cipher is None:
            raise VaultError(NO_KEY)
        renewed, unreadable, after = 0, 0, 0
        while True:
            async with self._database.begin() as connection:
                rows = (await connection.execute(_older(self._cipher.key_id, after))).all()
                opened_now = [await _renew(connection, row, self._cipher) for row in rows]
                if rows or not after:
                    await self._write_down(connection, VaultAct.ROTATED, who, why, None, sum(opened_now))
            renewed += sum(opened_now)
            unreadable += len(rows) - sum(opened_now)
            if len(rows) < MAX_ROTATED_TOGETHER:
                return Rotation(renewed=renewed, unreadable=unreadable)
            after = rows[-1].id

    async def log(self, *, finding_id: int | None = None, limit: int = 100) -> tuple[VaultEntry, ...]:
        """Tell who did what to the vault, newest first."""
        query = sa.select(vault_log).order_by(vault_log.c.id.desc()).limit(limit)
        if finding_id is not None:
            query = query.where(vault_log.c.finding_id == finding_id)
        async with self._database.read() as connection:
            return tuple(
                VaultEntry(
                    at=row.at,
                    act=row.act,
                    who=row.who,
                    why=row.why,
                    finding_id=row.finding_id,
                    excerpts=row.excerpts,
                )
                for row in await connection.execute(query)
            )

    async def _write_down(
        self, connection: AsyncConnection, act: VaultAct, who: str, why: str, finding_id: int | None, excerpts: int
    ) -> None:
        entry = {
            "at": self._clock.now(),
            "act": act,
            "who": clip(who),
            "why": clip(why, REASON_LENGTH),
            "finding_id": finding_id,
            "excerpts": excerpts,
        }
        await connection.execute(sa.insert(vault_log).values(entry))


_OF_FINDING = sa.select(vault_excerpts).order_by(vault_excerpts.c.finding_id, vault_excerpts.c.ordinal)


def _leads_to(finding_id: int) -> sa.ColumnElement[bool]:
    """Excerpts of the probe that a finding is about, or of the finding itself."""
    probe = sa.select(findings.c.probe_id).where(findings.c.id == finding_id).scalar_subquery()
    of_probe = sa.select(findings.c.id).where(findings.c.probe_id == probe)
    return vault_excerpts.c.finding_id.in_(of_probe) | (vault_excerpts.c.finding_id == finding_id)


def _older(key_id: str, after: int) -> sa.Select[tuple[object, ...]]:
    """Next rows that are sealed with another key; no other replica's, where several rotate."""
    return (
        sa.select(vault_excerpts)
        .where(vault_excerpts.c.key_id != key_id, vault_excerpts.c.id > after)
        .order_by(vault_excerpts.c.id)
        .limit(MAX_ROTATED_TOGETHER)
        .with_for_update()
    )


async def _renew(connection: AsyncConnection, row: sa.Row[tuple[object, ...]], cipher: VaultCipher) -> bool:
    """Seal one row anew; False where it cannot be opened."""
    place = place_of(row)
    try:
        text = cipher.open(sealed_of(row), place)
    except VaultError:
        return False
    renewed = sealed_row(cipher.seal(text, place))
    await connection.execute(sa.update(vault_excerpts).where(vault_excerpts.c.id == row.id).values(renewed))
    return True


async def _weightiest_finding(connection: AsyncConnection, run_id: str, judgement: Judgement) -> int:
    probe, canary = judgement.evidence.probe, judgement.evidence.prompt.canary
    query = (
        sa.select(findings.c.id, findings.c.outcome, findings.c.evidence_bits)
        .join_from(findings, probes, findings.c.probe_id == probes.c.id)
        .where(
            probes.c.run_id == run_id,
            probes.c.label == probe.label,
            probes.c.tenant_number == canary.tenant_number,
            probes.c.probe_number == canary.probe_number,
            findings.c.outcome.in_((Outcome.SUSPECT, Outcome.VIOLATION)),
        )
    )
    rows = (await connection.execute(query)).all()
    if not rows:
        raise LedgerError("The ledger holds no finding to keep foreign text for.")
    return int(max(rows, key=lambda row: (row.outcome.rank, row.evidence_bits, -row.id)).id)


async def _is_kept(connection: AsyncConnection, finding_id: int) -> bool:
    query = sa.select(sa.exists().where(vault_excerpts.c.finding_id == finding_id))
    return bool((await connection.execute(query)).scalar_one())
