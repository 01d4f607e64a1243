"""The evidence vault, on SQLite and PostgreSQL."""

import datetime as dt
import hashlib
import re
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.errors import ConfigError, LedgerError, VaultError
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.vault_log import VaultAct
from prober.store import vault as vault_module
from prober.store.database import Database
from prober.store.schema.runs import findings, runs
from prober.store.schema.vault import vault_excerpts, vault_log
from prober.store.vault import Rotation, Vault
from prober.store.vault_rows import StoredExcerpt
from tests.support.evidence import a_finding
from tests.support.ledger import SettableClock
from tests.support.vault import BOTH, CUSTOMER, EXCERPTS, TEXTS, WHO, WHY, Archive, answer

SOURCES = Path(vault_module.__file__).parents[1]


@pytest.fixture
def archive(database: Database, clock: SettableClock) -> Archive:
    return Archive(database, clock)


def texts(shown: tuple[StoredExcerpt, ...]) -> list[str | None]:
    return [excerpt.text for excerpt in shown]


async def rows_of(database: Database, table: sa.Table) -> list[sa.Row]:
    async with database.read() as connection:
        return list(await connection.execute(sa.select(table).order_by(table.c.id)))


async def test_what_is_kept_can_be_shown_from_every_finding_of_the_probe(archive: Archive):
    """It is kept once, under the weightiest finding; whichever number a person has, it leads there."""
    numbers = await archive.caught()
    shown = await archive.vault.show(numbers[Reason.FOREIGN_TEXT], WHO, WHY)

    assert texts(shown) == TEXTS
    assert {excerpt.place.finding_id for excerpt in shown} == {numbers[Reason.FOREIGN_CANARY]}
    assert texts(await archive.vault.show(numbers[Reason.FOREIGN_CANARY], WHO, WHY)) == TEXTS
    assert len(await rows_of(archive.database, vault_excerpts)) == len(EXCERPTS)


async def test_findings_of_other_probes_lead_nowhere(archive: Archive):
    """A person who may see one finding's text does not get another's."""
    run = await archive.run()
    await archive.caught(1, run)
    other = await archive.record(run, answer(2))

    assert await archive.vault.show(other[Reason.FOREIGN_CANARY], WHO, WHY) == ()
    assert await archive.vault.show(4711, WHO, WHY) == ()


async def test_the_database_holds_no_word_of_it(archive: Archive):
    """All columns of the row but the ciphertext are figures and ids, and no hash stands beside a ciphertext."""
    await archive.caught()

    for row, excerpt in zip(await rows_of(archive.database, vault_excerpts), EXCERPTS, strict=True):
        assert row.sha256 is None
        assert row.characters == len(excerpt.text)
        assert "Mustermann" not in repr(row)
        assert "Lupus" not in repr(row)


async def test_without_a_key_only_hash_and_length_are_kept(archive: Archive):
    """Nothing can be read back, by anybody; that something was there can be proven."""
    numbers = await archive.caught(vault=archive.vault_of(None))
    [first, second] = await archive.vault.show(numbers[Reason.FOREIGN_CANARY], WHO, WHY)

    assert (first.text, second.text) == (None, None)
    assert first.sha256 == hashlib.sha256(CUSTOMER.encode()).hexdigest()
    assert first.place.characters == len(CUSTOMER)
    assert [row.ciphertext for row in await rows_of(archive.database, vault_excerpts)] == [None, None]


async def test_a_sealed_text_without_its_key_is_an_error_that_names_the_key(archive: Archive):
    """A missing key does not look like missing evidence."""
    numbers = await archive.caught()

    with pytest.raises(VaultError, match="names no vault key"):
        await archive.vault_of(None).show(numbers[Reason.FOREIGN_CANARY], WHO, WHY)


@pytest.mark.parametrize(("who", "why"), [("", WHY), (WHO, ""), (WHO, " \n"), (" ", WHY)])
async def test_nobody_reads_without_a_name_and_a_reason(archive: Archive, who: str, why: str):
    """Refused before the database is asked."""
    numbers = await archive.caught()

    with pytest.raises(ConfigError, match="who reads the vault, and why"):
        await archive.vault.show(numbers[Reason.FOREIGN_CANARY], who, why)
    assert await archive.vault.log() == ()


async def test_every_read_is_logged_those_that_fail_too(archive: Archive, clock: SettableClock):
    """Who, why, when, which finding, how much there was: before it is opened, so that a failure is no way past it."""
    numbers = await archive.caught()
    finding = numbers[Reason.FOREIGN_CANARY]
    await archive.vault.show(finding, WHO, WHY)
    clock.advance(60)
    with pytest.raises(VaultError):
        await archive.vault_of(None).show(finding, "mallory", "curious")
    await archive.vault.show(4711, WHO, "typing error")

    log = await archive.vault.log()

    assert [(entry.who, entry.why, entry.finding_id, entry.excerpts) for entry in log] == [
        (WHO, "typing error", 4711, 0),
        ("mallory", "curious", finding, 2),
        (WHO, WHY, finding, 2),
    ]
    assert {entry.act for entry in log} == {VaultAct.READ}
    assert log[0].at - log[2].at == dt.timedelta(seconds=60)
    assert [entry.who for entry in await archive.vault.log(finding_id=4711)] == [WHO]
    assert len(await archive.vault.log(limit=1)) == 1


async def test_a_read_that_cannot_be_logged_does_not_happen(archive: Archive, monkeypatch: pytest.MonkeyPatch):
    """No log, no text."""
    numbers = await archive.caught()
    async with archive.database.begin() as connection:
        await connection.execute(sa.text("ALTER TABLE vault_log RENAME TO elsewhere"))

    with pytest.raises(LedgerError):
        await archive.vault.show(numbers[Reason.FOREIGN_CANARY], WHO, WHY)


async def test_the_log_outlives_what_it_is_about(archive: Archive):
    """Runs and findings may go; who read their text stays known."""
    numbers = await archive.caught()
    await archive.vault.show(numbers[Reason.FOREIGN_CANARY], WHO, WHY)
    async with archive.database.begin() as connection:
        await connection.execute(sa.delete(runs))

    assert await rows_of(archive.database, vault_excerpts) == []
    assert len(await archive.vault.log()) == 1


def test_nothing_in_the_product_changes_or_deletes_a_log_line():
    """The log is only ever added to: no statement of the product updates, deletes or truncates it."""
    sources = {path: path.read_text() for path in SOURCES.rglob("*.py")}
    touching = {path: text for path, text in sources.items() if "vault_log" in text}

    assert touching
    for path, text in touching.items():
        changes = re.findall(r"(?:update|delete)\(\s*vault_log|vault_log\.(?:update|delete)|TRUNCATE", text)
        assert changes == [], path


async def test_a_row_that_was_tampered_with_does_not_open(archive: Archive):
    """Swapped texts are noticed: each opens in its own place alone."""
    numbers = await archive.caught()
    first, second = await rows_of(archive.database, vault_excerpts)
    async with archive.database.begin() as connection:
        for row, other in ((first, second), (second, first)):
            swapped = {"nonce": other.nonce, "ciphertext": other.ciphertext}
            await connection.execute(sa.update(vault_excerpts).where(vault_excerpts.c.id == row.id).values(swapped))

    with pytest.raises(VaultError, match="changed or moved"):
        await archive.vault.show(numbers[Reason.FOREIGN_CANARY], WHO, WHY)


async def test_an_answer_without_a_finding_to_keep_it_for_is_refused(archive: Archive):
    """Foreign text lies under a finding or nowhere: neither of an unrecorded answer nor of a clean one."""
    run = await archive.run()
    clean = answer(1, a_finding(Reason.SERVED, Outcome.CLEAN))
    await archive.record(run, clean)

    for judgement in (clean, answer(2)):
        with pytest.raises(LedgerError, match="no finding to keep"):
            await archive.vault.keep(run, judgement, EXCERPTS)


async def test_purging_takes_what_is_named_and_leaves_findings(archive: Archive, clock: SettableClock):
    """By finding, by age, or everything; each purge is logged."""
    first = await archive.caught(1)
    clock.advance(3 * 86_400)
    second = await archive.caught(2)
    third = await archive.caught(3)

    assert await archive.vault.purge(WHO, finding_id=first[Reason.FOREIGN_TEXT], older_than=dt.timedelta(days=4)) == 0
    assert await archive.vault.purge(WHO, older_than=dt.timedelta(days=2)) == 2
    assert await archive.vault.show(first[Reason.FOREIGN_CANARY], WHO, WHY) == ()
    assert await archive.vault.purge(WHO, WHY, finding_id=second[Reason.FOREIGN_TEXT]) == 2
    assert texts(await archive.vault.show(third[Reason.FOREIGN_CANARY], WHO, WHY)) == TEXTS
    assert await archive.vault.purge(WHO) == 2
    assert len(await rows_of(archive.database, findings)) == 9
    purges = [entry for entry in await archive.vault.log() if entry.act is VaultAct.PURGED]
    assert [(entry.finding_id, entry.excerpts, entry.why) for entry in purges] == [
        (None, 2, ""),
        (second[Reason.FOREIGN_TEXT], 2, WHY),
        (None, 2, ""),
        (first[Reason.FOREIGN_TEXT], 0, ""),
    ]


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vault_module, "MAX_PURGED_TOGETHER", 2)
    monkeypatch.setattr(vault_module, "MAX_ROTATED_TOGETHER", 2)


async def test_rotation_puts_everything_under_the_key_in_force(archive: Archive, small_batches: None):
    """Afterwards the older key may be dropped; a second rotation finds nothing to do."""
    numbers = [await archive.caught(number) for number in (1, 2, 3)]
    await archive.caught(4, vault=archive.vault_of(None))

    assert await archive.vault_of(BOTH).rotate(WHO) == Rotation(renewed=6, unreadable=0)
    assert await archive.vault_of(BOTH).rotate(WHO) == Rotation(renewed=0, unreadable=0)

    renewed = archive.vault_of(BOTH.without(next(iter(BOTH.keys))))
    assert {row.key_id for row in await rows_of(archive.database, vault_excerpts)} == {BOTH.current, None}
    for each in numbers:
        assert texts(await renewed.show(each[Reason.FOREIGN_CANARY], WHO, WHY)) == TEXTS
    rotations = [entry.excerpts for entry in await archive.vault.log() if entry.act is VaultAct.ROTATED]
    assert rotations == [0, 2, 2, 2]


async def test_rotation_leaves_what_it_cannot_open(archive: Archive, small_batches: None):
    """Text under a key that is elsewhere, or that was changed, is counted and kept as it is, never lost."""
    await archive.caught(1, vault=archive.vault_of(BOTH))
    await archive.caught(2)
    before = await rows_of(archive.database, vault_excerpts)

    assert await archive.vault.rotate(WHO) == Rotation(renewed=0, unreadable=2)
    assert await rows_of(archive.database, vault_excerpts) == before


async def test_rotation_needs_a_key(archive: Archive):
    """Without one there is nothing to encrypt with."""
    with pytest.raises(VaultError, match="no vault key"):
        await archive.vault_of(None).rotate(WHO)


async def test_purging_goes_in_batches(archive: Archive, small_batches: None):
    """Other writers get in between; each batch stands in the log with what it deleted, so that the log adds up."""
    for number in (1, 2, 3):
        await archive.caught(number)

    assert await archive.vault.purge(WHO) == 6
    assert [entry.excerpts for entry in await archive.vault.log() if entry.act is VaultAct.PURGED] == [2, 2, 2]


async def test_a_purge_that_is_killed_half_way_has_logged_what_it_deleted(
    archive: Archive, small_batches: None, monkeypatch: pytest.MonkeyPatch
):
    """Deleted and logged in one transaction, batch by batch."""
    for number in (1, 2, 3):
        await archive.caught(number)
    begin, begun = archive.database.begin, []

    def twice() -> AbstractAsyncContextManager[AsyncConnection]:
        begun.append(1)
        if len(begun) > 2:
            raise KeyboardInterrupt
        return begin()

    monkeypatch.setattr(archive.database, "begin", twice)
    with pytest.raises(KeyboardInterrupt):
        await archive.vault.purge(WHO)
    monkeypatch.undo()

    left = len(await rows_of(archive.database, vault_excerpts))
    logged = [entry.excerpts for entry in await archive.vault.log() if entry.act is VaultAct.PURGED]
    assert (left, logged) == (2, [2, 2])


async def test_names_and_reasons_of_any_length_are_stored(archive: Archive):
    """What a person types is bounded, not refused."""
    await archive.vault.show(1, "w" * 5_000, "y\0" * 5_000)
    [row] = await rows_of(archive.database, vault_log)

    assert (len(row.who), len(row.why)) == (200, 1_000)


def test_a_vault_shows_its_key_s_id_alone(archive: Archive):
    """`repr` goes into logs and tracebacks."""
    shown = repr(archive.vault) + repr(archive.vault_of(None))

    assert bytes(range(32)).hex() not in shown
    assert isinstance(archive.vault, Vault)
