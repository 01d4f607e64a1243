"""Evidence over the API: the one place where foreign text comes out, and never unnoticed."""

import pytest

from prober.domain.account import Scope
from prober.domain.finding import Reason
from prober.domain.vault_log import VaultAct
from prober.store.database import Database
from prober.store.vault import Vault
from tests.support.api import V1, Served, served
from tests.support.ledger import SettableClock
from tests.support.vault import BOTH, CUSTOMER, FIRST, Archive

VAULT = f"{V1}/vault"
REASON = "incident 4711: whose prompt is it?"


@pytest.fixture
async def archive(database: Database, clock: SettableClock) -> Archive:
    return Archive(database, clock)


def api_of(archive: Archive, vault: Vault | None = None) -> Served:
    return served(archive.database, archive.clock, vault=vault or archive.vault)


async def test_evidence_is_shown_for_a_reason_and_logged(archive: Archive):
    """The text as it was kept, and a line in the log: which token, why, when, what about."""
    numbers = await archive.caught()
    async with await api_of(archive).caller(Scope.VAULT, name="grace") as client:
        answered = await client.get(f"{VAULT}/{numbers[Reason.FOREIGN_CANARY]}", params={"reason": REASON})
    assert answered.status_code == 200
    assert answered.headers["cache-control"] == "no-store"
    first, second = answered.json()["excerpts"]
    assert (first["channel"], first["start"], first["text"]) == ("content", 12, CUSTOMER)
    assert (first["characters"], first["sha256"]) == (len(CUSTOMER), None)
    assert second["text"] == "and the diagnosis: Lupus \\ud800"
    (entry,) = await archive.vault.log()
    assert (entry.act, entry.who, entry.why) == (VaultAct.READ, "grace", REASON)
    assert (entry.finding_id, entry.excerpts) == (numbers[Reason.FOREIGN_CANARY], 2)


async def test_without_a_vault_key_there_are_hashes_and_lengths(archive: Archive):
    """Enough to tell whether two answers held the same, and no text."""
    blind = archive.vault_of(None)
    numbers = await archive.caught(vault=blind)
    async with await api_of(archive, blind).caller(Scope.VAULT) as client:
        answered = await client.get(f"{VAULT}/{numbers[Reason.FOREIGN_TEXT]}", params={"reason": REASON})
    excerpt = answered.json()["excerpts"][0]
    assert (excerpt["text"], len(excerpt["sha256"]), excerpt["characters"]) == (None, 64, len(CUSTOMER))
    assert "Mustermann" not in answered.text


@pytest.mark.parametrize("keyring", [None, BOTH.without(FIRST.current)])
async def test_evidence_under_another_key_stays_shut(archive: Archive, keyring: object):
    """503 in our words; that it was tried is logged all the same."""
    numbers = await archive.caught()
    shut = archive.vault_of(keyring)  # type: ignore[arg-type]
    async with await api_of(archive, shut).caller(Scope.VAULT) as client:
        answered = await client.get(f"{VAULT}/{numbers[Reason.FOREIGN_CANARY]}", params={"reason": REASON})
    assert answered.status_code == 503
    assert answered.json()["type"].endswith(":vault-locked")
    assert len(await archive.vault.log()) == 1


async def test_a_finding_without_evidence_has_none(archive: Archive):
    """An empty list: the finding is there, and nothing of its text."""
    numbers = await archive.caught()
    await archive.vault.purge("grace")
    async with await api_of(archive).caller(Scope.VAULT) as client:
        answered = await client.get(f"{VAULT}/{numbers[Reason.FOREIGN_CANARY]}", params={"reason": REASON})
    assert answered.json() == {"finding_id": numbers[Reason.FOREIGN_CANARY], "excerpts": []}


@pytest.mark.parametrize("reason", [None, "", "abc", "    ", "x" * 501, "why\0not", "why\nnot", "why\u2028not"])
async def test_without_a_reason_nothing_is_read(archive: Archive, reason: str | None):
    """422, nothing shown, nothing logged: a line in the log must say something, and be one line."""
    numbers = await archive.caught()
    async with await api_of(archive).caller(Scope.VAULT) as client:
        parameters = {} if reason is None else {"reason": reason}
        answered = await client.get(f"{VAULT}/{numbers[Reason.FOREIGN_CANARY]}", params=parameters)
    assert answered.status_code == 422
    assert await archive.vault.log() == ()


async def test_no_other_scope_reads_evidence(archive: Archive):
    """Not even all the others together; the refused attempt opens nothing."""
    numbers = await archive.caught()
    async with await api_of(archive).caller(Scope.READ, Scope.RUN, Scope.ADMIN) as client:
        answered = await client.get(f"{VAULT}/{numbers[Reason.FOREIGN_CANARY]}", params={"reason": REASON})
    assert answered.status_code == 403
    assert await archive.vault.log() == ()


async def test_nobodys_finding_is_404(archive: Archive):
    """Nothing is opened, so nothing is logged."""
    async with await api_of(archive).caller(Scope.VAULT) as client:
        assert (await client.get(f"{VAULT}/4711", params={"reason": REASON})).status_code == 404
    assert await archive.vault.log() == ()
