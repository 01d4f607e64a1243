"""What came back of a wave: read, judged, recorded, published."""

import asyncio
import dataclasses
from collections.abc import Sequence

from prober.detect.answer import classify
from prober.detect.detectors import DETECTORS
from prober.domain.errors import LeaseLostError
from prober.domain.evidence import Evidence, Judgement, WaveEvidence
from prober.domain.observation import Observation
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from prober.prompt.keyring import Keyring
from prober.runner.book import RunBook, cost_of
from prober.runner.examine import examine
from prober.runner.live_probes import LiveProbes
from prober.runner.ports import Ports
from prober.runner.vaulting import keep_foreign_text

PUBLISH_SECONDS = 2.0
"""What was seen is published once it is recorded, or after so long: a database that is gone hides no leak."""

Came = tuple[Probe, Prompt, Observation]


@dataclasses.dataclass(frozen=True, slots=True)
class Instruments:
    """What turns plans into text and text into evidence: the canary keys and the live probes under them."""

    keyring: Keyring
    live: LiveProbes


async def take_in(came: Sequence[Came], book: RunBook, instruments: Instruments, ports: Ports) -> WaveEvidence:
    """Read, judge, record and publish every answer; what fails for one is raised once all have had their turn.

    An answer whose record waits for the database keeps no other from being judged and published.

    Raises:
        LedgerError: an answer could not be recorded. LeaseLostError, the job is another replica's: no later answer is
            recorded.
    """
    reception = _Reception(book, instruments, ports)
    try:
        for probe, prompt, observation in came:
            await reception.receive(probe, prompt, observation)
        return await reception.end()
    finally:
        await reception.cut()


class _Reception:
    """The answers of one wave on their way into book, ledger, vault and telemetry."""

    def __init__(self, book: RunBook, instruments: Instruments, ports: Ports) -> None:
        self._book = book
        self._instruments = instruments
        self._ports = ports
        self._judgements: list[Judgement] = []
        self._records: list[asyncio.Task[None]] = []
        self._faults: list[BaseException] = []

    async def receive(self, probe: Probe, prompt: Prompt, observation: Observation) -> None:
        """Take one answer in, in the wave's order; its record may be under way still when this returns."""
        try:
            judgement = await _judge(probe, prompt, observation, self._book, self._instruments, self._ports)
        except Exception as fault:  # noqa: BLE001 - the answers behind it are judged all the same; `end` raises it
            self._faults.append(fault)
            return
        self._judgements.append(judgement)
        spent = cost_of(judgement)
        try:
            await self._begin_record(judgement, prompt, observation)
        finally:
            # A leak that was seen must reach report and metrics even where the disk is full or somebody interrupts.
            self._book.enter(judgement, spent)
            self._ports.telemetry.probe_judged(self._book.run, judgement, spent)

    async def _begin_record(self, judgement: Judgement, prompt: Prompt, observation: Observation) -> None:
        if any(isinstance(fault, LeaseLostError) for fault in self._faults_so_far()):
            return
        is_waiting = any(not record.done() for record in self._records)
        record = asyncio.create_task(_record(judgement, prompt, observation, self._book, self._ports))
        self._records.append(record)
        await asyncio.wait([record], timeout=0 if is_waiting else PUBLISH_SECONDS)

    async def end(self) -> WaveEvidence:
        """Wait for all records; give the judgements, unless something failed."""
        if self._records:
            await asyncio.wait(self._records)
        for fault in self._faults_so_far():
            raise fault
        return tuple(self._judgements)

    def _faults_so_far(self) -> list[BaseException]:
        ended = [record.exception() for record in self._records if record.done() and not record.cancelled()]
        return [*self._faults, *(fault for fault in ended if fault is not None)]

    async def cut(self) -> None:
        """Let no record go on behind the run."""
        waiting = [record for record in self._records if not record.done()]
        for record in waiting:
            record.cancel()
        if waiting:
            await asyncio.wait(waiting)


async def _record(judgement: Judgement, prompt: Prompt, observation: Observation, book: RunBook, ports: Ports) -> None:
    await ports.ledger.record(book.run, judgement)
    await keep_foreign_text(book.run, judgement, prompt, observation, ports)


async def _judge(
    probe: Probe, prompt: Prompt, observation: Observation, book: RunBook, instruments: Instruments, ports: Ports
) -> Judgement:
    """Read the answer's text: nothing that detectors, ledger and telemetry are given holds a word of it."""
    reading = await instruments.live.read(probe, prompt, observation)
    target = book.run.campaign.target
    evidence = Evidence(
        target=target,
        probe=probe,
        prompt=dataclasses.replace(prompt, text=""),
        observation=observation.without_text(),
        answer=classify(target, probe, prompt, observation),
        reading=reading,
        history=book.history,
    )
    return Judgement(evidence=evidence, findings=examine(evidence, DETECTORS, ports.telemetry.internal_error))
