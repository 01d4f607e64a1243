"""One wave: compose, remember, send together, take in what comes back."""

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence

from prober.domain.canary import Canary
from prober.domain.errors import LeaseLostError
from prober.domain.evidence import WaveEvidence
from prober.domain.observation import Observation
from prober.domain.probe import Probe, Wave
from prober.domain.prompt import Prompt
from prober.domain.verdict import Spending
from prober.prompt.composer import compose
from prober.prompt.tokens import Calibration
from prober.runner.book import RunBook, reckon
from prober.runner.ports import Ports
from prober.runner.reception import Came, Instruments, take_in
from prober.runner.uncut import COMPONENT, uncut

Planned = tuple[Probe, Prompt]


async def compose_wave(
    wave: Wave, instruments: Instruments, calibration: Calibration | None, book: RunBook, ports: Ports
) -> tuple[Planned, ...]:
    """Give every probe its canary and its text. Composing is CPU work and runs off the loop.

    An earlier text of this run comes out as it was, though the target's tokens may have been measured anew since: then
    how many it counts by now is not predicted.
    """
    planned = []
    for probe in wave.probes:
        canary = probe.prompt.rewrite_of or mint(probe, instruments, ports)
        measured = book.calibrations.setdefault(canary, calibration)
        prompt = await asyncio.to_thread(compose, probe.prompt, canary, instruments.keyring, measured)
        if measured != calibration:
            prompt = dataclasses.replace(prompt, planned_tokens=None)
        planned.append((probe, prompt))
    return tuple(planned)


def mint(probe: Probe, instruments: Instruments, ports: Ports) -> Canary:
    """Draw a canary that no live probe bears."""
    while True:
        canary = Canary.of(probe.tenant.number, instruments.keyring.current_epoch, ports.serials.draw())
        if not instruments.live.knows(canary):
            return canary


def wave_costs(planned: Sequence[Planned]) -> Mapping[str, Spending]:
    """Reckon the most that sending these can spend, by tenant."""
    costs: dict[str, Spending] = {}
    for probe, prompt in planned:
        cost = reckon(prompt.planned_tokens, prompt.filler_words, probe.max_output_tokens)
        costs[probe.tenant.name] = costs.get(probe.tenant.name, Spending()) + cost
    return costs


async def send_wave(planned: Sequence[Planned], book: RunBook, instruments: Instruments, ports: Ports) -> WaveEvidence:
    """Send what was composed; return one judgement per probe, in the wave's order.

    The ledger holds every canary before the first byte leaves. Whatever ends the wave early, be it an interrupt, each
    answer that had come by then is read, judged, published and, should the ledger take it, recorded.

    Raises:
        LedgerError: an answer could not be recorded; LeaseLostError, none of this run will be.
    """
    await ports.ledger.remember(book.run, planned)
    await instruments.live.remember(planned)
    sends: list[asyncio.Task[Observation]] = []
    try:
        async with asyncio.TaskGroup() as group:
            sends.extend(group.create_task(_send(probe, prompt, ports)) for probe, prompt in planned)
    except BaseException:
        came = [(*each, send.result()) for each, send in zip(planned, sends, strict=True) if _has_come(send)]
        await _save(came, book, instruments, ports)
        raise
    came = [(*each, send.result()) for each, send in zip(planned, sends, strict=True)]
    return await uncut(take_in(came, book, instruments, ports), ports.telemetry)


def _has_come(send: asyncio.Task[Observation]) -> bool:
    return send.done() and not send.cancelled() and send.exception() is None


async def _save(came: Sequence[Came], book: RunBook, instruments: Instruments, ports: Ports) -> None:
    """Take in what came of a wave that ends by an exception, which no fault of this may hide."""
    try:
        await take_in(came, book, instruments, ports)
    except LeaseLostError:
        return
    except Exception as error:  # noqa: BLE001 - reported; what ended the wave goes on
        ports.telemetry.internal_error(COMPONENT, error)


async def _send(probe: Probe, prompt: Prompt, ports: Ports) -> Observation:
    if probe.start_offset_seconds:
        await asyncio.sleep(probe.start_offset_seconds)
    return await ports.endpoint.send(probe, prompt)
