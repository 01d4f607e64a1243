"""A run, a probe and a judgement to store, and a ledger with its look-ups."""

from prober.domain.campaign import Run
from prober.domain.canary import Canary
from prober.domain.evidence import Judgement
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.verdict import Spending
from prober.store.ledger import SqlLedger
from prober.store.lookups import LedgerLookups
from tests.support.evidence import a_probe, a_prompt, an_evidence
from tests.support.ledger import MemoryLedger
from tests.support.reports import a_leak, a_run

ESTIMATE = Spending(requests=9, prompt_tokens=3_000_000_000, output_tokens=64)
CHECK = a_probe(label="seed_and_probe/0003")
CANARY = Canary.of(2047, 31, 2**28 - 1)
PROMPT = a_prompt(canary=CANARY)


class Ledgers:
    """A ledger and its look-ups, whatever they are made of."""

    def __init__(self, ledger: SqlLedger | MemoryLedger, lookups: LedgerLookups | MemoryLedger) -> None:
        self.ledger = ledger
        self.lookups = lookups


def judged(*findings: Finding, **changes: object) -> Judgement:
    evidence = an_evidence(**{"probe": CHECK, "prompt": PROMPT, **changes})
    return Judgement(evidence=evidence, findings=findings or (a_leak(),))


async def opened(ledger: SqlLedger | MemoryLedger, **changes: object) -> Run:
    run = a_run(**changes)
    await ledger.open_run(run, ESTIMATE)
    return run


def finding_of(outcome: Outcome, reason: Reason = Reason.SERVED, label: str = "") -> Finding:
    return Finding(detector="d", outcome=outcome, reason=reason, message="m", probe_label=label)
