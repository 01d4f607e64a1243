"""Foreign text of a recorded answer -> the vault. Nothing that goes wrong here may cost a finding or end a run."""

import asyncio

from prober.domain.campaign import Run
from prober.domain.evidence import Judgement
from prober.domain.observation import Observation
from prober.domain.outcome import Outcome
from prober.domain.prompt import Prompt
from prober.prompt.excerpts import foreign_excerpts
from prober.runner.ports import Ports

COMPONENT = "vault"
"""Name under which a fault of keeping evidence is reported."""


async def keep_foreign_text(
    run: Run, judgement: Judgement, prompt: Prompt, observation: Observation, ports: Ports
) -> None:
    """Hand the vault what of a suspicious answer is none of our own text. Call it once the ledger has the findings.

    Args:
        run: as recorded.
        judgement: as recorded.
        prompt: the answer's, with its text.
        observation: with its text, which nobody holds after this.
        ports: vault, and telemetry for its faults.
    """
    if judgement.outcome.rank < Outcome.SUSPECT.rank:
        return
    try:
        excerpts = await asyncio.to_thread(foreign_excerpts, observation, prompt, ports.vault.bounds)
        if excerpts:
            await ports.vault.keep(run, judgement, excerpts)
    except Exception as error:  # noqa: BLE001 - the finding stands in the ledger; its text is worth less than the run
        ports.telemetry.internal_error(COMPONENT, error)
