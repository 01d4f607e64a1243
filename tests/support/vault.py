"""A judged answer with foreign text, recorded, and a vault to keep it in."""

import dataclasses

from prober.domain.campaign import Run
from prober.domain.canary import Canary
from prober.domain.evidence import Judgement
from prober.domain.excerpt import Channel, Excerpt
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.vault_keyring import VaultKeyring
from prober.store.database import Database
from prober.store.ledger import SqlLedger
from prober.store.lookups import LedgerLookups
from prober.store.vault import Vault
from tests.support.evidence import a_finding
from tests.support.ledger import SettableClock
from tests.support.reports import a_leak, a_run
from tests.support.stored import CANARY, CHECK, ESTIMATE, PROMPT, judged

FIRST = VaultKeyring.create(bytes(range(32)))
BOTH = FIRST.rotate(bytes(range(32, 64)))
CUSTOMER = "Dear Mrs Mustermann, your IBAN is DE89 3704 0044 0532 0130 00"
EXCERPTS = (
    Excerpt(channel=Channel.CONTENT, start=12, text=CUSTOMER),
    Excerpt(channel=Channel.REASONING, start=0, text="and the diagnosis: Lupus \ud800"),
)
TEXTS = [excerpt.text for excerpt in EXCERPTS]
WHO, WHY = "grace", "tell the customer"


def canary_of(number: int) -> Canary:
    """Canary of probe `number`."""
    return Canary.of(CANARY.tenant_number, 31, number)


def answer(number: int, *found: Finding) -> Judgement:
    """Judgement of probe `number`; by default clean on one axis, suspicious on another, a leak on the third."""
    found = found or (
        a_finding(Reason.SERVED, Outcome.CLEAN),
        a_finding(Reason.FOREIGN_TEXT, Outcome.SUSPECT),
        a_leak(),
    )
    probe = dataclasses.replace(CHECK, label=f"seed_and_probe/{number:04d}")
    prompt = dataclasses.replace(PROMPT, canary=canary_of(number))
    return judged(*found, probe=probe, prompt=prompt)


class Archive:
    """A ledger, a vault and its twin without a key, on one database."""

    def __init__(self, database: Database, clock: SettableClock) -> None:
        self.database = database
        self.clock = clock
        self.ledger = SqlLedger(database, clock)
        self.lookups = LedgerLookups(database, clock)
        self.vault = self.vault_of(FIRST)

    def vault_of(self, keyring: VaultKeyring | None) -> Vault:
        return Vault(self.database, self.clock, keyring)

    async def run(self, run_id: str = "run-1") -> Run:
        run = a_run(run_id=run_id)
        await self.ledger.open_run(run, ESTIMATE)
        return run

    async def record(self, run: Run, judgement: Judgement) -> dict[Reason, int]:
        """Record an answer; returns its findings' numbers."""
        evidence = judgement.evidence
        await self.ledger.remember(run, [(evidence.probe, evidence.prompt)])
        await self.ledger.record(run, judgement)
        stored = await self.lookups.findings(run_id=run.run_id)
        clean = [each for each in stored if each.finding.probe_label == evidence.probe.label]
        return {each.finding.reason: each.finding_id for each in clean}

    async def caught(self, number: int = 1, run: Run | None = None, vault: Vault | None = None) -> dict[Reason, int]:
        """Record an answer and keep its text; returns its findings' numbers."""
        run = run or await self.run(f"run-{number}")
        judgement = answer(number)
        numbers = await self.record(run, judgement)
        await (vault or self.vault).keep(run, judgement, EXCERPTS)
        return numbers
