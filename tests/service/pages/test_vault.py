"""The one page with foreign text: for a reason, to a scope of its own, logged first."""

import pytest

from prober.domain.account import Scope
from prober.domain.errors import VaultError
from prober.domain.excerpt import Channel
from prober.store.database import Database
from prober.store.vault_cipher import Place
from prober.store.vault_rows import StoredExcerpt
from tests.support.ledger import SettableClock
from tests.support.pages import Pages, found_leak, pages_over

SECRET = "Dear customer 4711, \u202eyour <b>password</b> is \x1b[31mhunter2"


class FakeVault:
    """Keeps one excerpt, and notes who looked."""

    def __init__(self, *excerpts: StoredExcerpt, error: Exception | None = None) -> None:
        self.excerpts, self.error = excerpts, error
        self.looks: list[tuple[int, str, str]] = []

    async def show(self, finding_id: int, who: str, why: str) -> tuple[StoredExcerpt, ...]:
        self.looks.append((finding_id, who, why))
        if self.error is not None:
            raise self.error
        return self.excerpts


def excerpt(text: str | None, clock: SettableClock) -> StoredExcerpt:
    place = Place(finding_id=1, run_id="run-1", ordinal=0, channel=Channel.CONTENT, start=5, characters=60)
    return StoredExcerpt(place=place, kept_at=clock.now(), sha256=None if text else "ab" * 32, text=text)


async def over(vault: FakeVault, database: Database, clock: SettableClock) -> Pages:
    pages = pages_over(database, clock, vault=vault)
    await found_leak(pages)
    return pages


async def test_a_reason_is_asked_for_first(sqlite_database: Database, clock: SettableClock):
    """Opening the page shows and logs nothing."""
    vault = FakeVault(excerpt(SECRET, clock))
    visitor = await (await over(vault, sqlite_database, clock)).visitor(Scope.READ, Scope.VAULT)
    text = (await visitor.get("/ui/vault/1")).text
    assert "hunter2" not in text
    assert vault.looks == []


async def test_text_is_shown_as_text_and_logged(sqlite_database: Database, clock: SettableClock):
    """Nothing in it is markup, moves a cursor or turns text; nothing is kept by a cache."""
    vault = FakeVault(excerpt(SECRET, clock))
    visitor = await (await over(vault, sqlite_database, clock)).visitor(Scope.READ, Scope.VAULT)
    answered = await visitor.send("/ui/vault/1", reason="INC-1: whose is it?")
    assert "hunter2" in answered.text
    assert "&lt;b&gt;password" in answered.text
    assert "\u202e" not in answered.text
    assert "\x1b" not in answered.text
    assert answered.headers["cache-control"] == "no-store"
    assert vault.looks == [(1, "sre", "INC-1: whose is it?")]


@pytest.mark.parametrize("reason", ["", "abc", "x" * 501, "line\nline", "\x00\x00\x00\x00"])
async def test_without_a_reason_nothing_is_opened(reason: str, sqlite_database: Database, clock: SettableClock):
    """422, and no look."""
    vault = FakeVault(excerpt(SECRET, clock))
    visitor = await (await over(vault, sqlite_database, clock)).visitor(Scope.READ, Scope.VAULT)
    answered = await visitor.send("/ui/vault/1", reason=reason)
    assert answered.status_code == 422
    assert vault.looks == []


async def test_without_a_key_hashes_are_shown(sqlite_database: Database, clock: SettableClock):
    """As they were kept."""
    vault = FakeVault(excerpt(None, clock))
    visitor = await (await over(vault, sqlite_database, clock)).visitor(Scope.READ, Scope.VAULT)
    assert "ab" * 32 in (await visitor.send("/ui/vault/1", reason="INC-1: whose?")).text
    vault.excerpts = ()
    assert "nothing is left" in (await visitor.send("/ui/vault/1", reason="INC-1: whose?")).text


async def test_a_locked_vault_says_so(sqlite_database: Database, clock: SettableClock):
    """503; the attempt was logged."""
    vault = FakeVault(error=VaultError("key 12ab of /etc/prober/vault.key"))
    visitor = await (await over(vault, sqlite_database, clock)).visitor(Scope.READ, Scope.VAULT)
    answered = await visitor.send("/ui/vault/1", reason="INC-1: whose?")
    assert answered.status_code == 503
    assert "vault.key" not in answered.text
    assert len(vault.looks) == 1
