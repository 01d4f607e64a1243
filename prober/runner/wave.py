"""One wave: compose, remember, send together, read, judge, record."""

import asyncio
import dataclasses
from collections.abc import Sequence

from prober.detect.answer import classify
from prober.detect.detectors import DETECTORS
from prober.domain.canary import Canary
from prober.domain.evidence import Evidence, Judgement, WaveEvidence
from prober.domain.observation import Observation
from prober.domain.probe import Probe, Wave
from prober.domain.prompt import Prompt
from prober.domain.verdict import Spending
from prober.prompt.composer import compose
from prober.prompt.keyring import Keyring
from prober.prompt.live import LiveIndex
from prober.prompt.reading import read
from prober.prompt.tokens import Calibration
from prober.runner.book import RunBook, cost_of, reckon
from prober.runner.examine import examine
from prober.runner.ports import Ports

Planned = tuple[Probe, Prompt]


@dataclasses.dataclass(frozen=True, slots=True)
class Instruments:
    """What turns plans into text and text into evidence: the canary keys and the live probes under them."""

    keyring: Keyring
    live: LiveIndex


async def compose_wave(
    wave: Wave, instruments: Instruments, calibration: Calibration | None, ports: Ports
) -> tuple[Planned, ...]:
    """Give every probe its canary and its text. Composing is CPU work and runs off the loop."""
    planned = []
    for probe in wave.probes:
        canary = probe.prompt.rewrite_of or mint(probe, instruments, ports)
        prompt = await asyncio.to_thread(compose, probe.prompt, canary, instruments.keyring, calibration)
        planned.append((probe, prompt))
    return tuple(planned)


def mint(probe: Probe, instruments: Instruments, ports: Ports) -> Canary:
    """Draw a canary that no live probe bears."""
    while True:
        canary = Canary.of(probe.tenant.number, instruments.keyring.current_epoch, ports.serials.draw())
        if not instruments.live.knows(canary):
            return canary


def wave_cost(planned: Sequence[Planned]) -> Spending:
    """Reckon the most that sending these can spend."""
    return sum(
        (reckon(prompt.planned_tokens, prompt.filler_words, probe.max_output_tokens) for probe, prompt in planned),
        Spending(),
    )


async def send_wave(planned: Sequence[Planned], book: RunBook, instruments: Instruments, ports: Ports) -> WaveEvidence:
    """Send what was composed; return one judgement per probe, in the wave's order.

    The ledger holds every canary before the first byte leaves.
    """
    await ports.ledger.remember(book.run, planned)
    for probe, prompt in planned:
        instruments.live.remember(prompt, probe.prompt.form)
    async with asyncio.TaskGroup() as group:
        sends = [group.create_task(_send(probe, prompt, ports)) for probe, prompt in planned]
    judgements = []
    for (probe, prompt), send in zip(planned, sends, strict=True):
        judgement = await _judge(probe, prompt, send.result(), book, instruments, ports)
        spent = cost_of(judgement)
        try:
            await ports.ledger.record(book.run, judgement)
        finally:
            # A leak that was seen must reach report and metrics even where the disk is full or somebody interrupts.
            book.enter(judgement, spent)
            ports.telemetry.probe_judged(book.run, judgement, spent)
        judgements.append(judgement)
    return tuple(judgements)


async def _send(probe: Probe, prompt: Prompt, ports: Ports) -> Observation:
    if probe.start_offset_seconds:
        await asyncio.sleep(probe.start_offset_seconds)
    return await ports.endpoint.send(probe, prompt)


async def _judge(
    probe: Probe, prompt: Prompt, observation: Observation, book: RunBook, instruments: Instruments, ports: Ports
) -> Judgement:
    """Read the answer's text, then let go of it: nothing behind this point holds a word of it."""
    reading = await asyncio.to_thread(
        read,
        observation.text,
        observation.reasoning,
        prompt,
        instruments.keyring,
        instruments.live,
        other=observation.other_text,
    )
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
