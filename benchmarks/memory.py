"""Peak memory of composing, remembering and sending large prompts: of one, as a multiple of its body; of eight at once.

`python -m benchmarks.memory URL TOKENS FORM COUNT [MODULE]` measures within a process of its own and prints JSON.
"""

import asyncio
import dataclasses
import importlib
import json
import math
import sys
from collections.abc import Iterator, Sequence

from benchmarks.figure import Figure, Sizes
from benchmarks.material import KEYRING, SHORT_TOKENS, endpoint_of, probe_of, prompt_of
from benchmarks.peer import peer
from benchmarks.resident import MIB, peak_bytes, resident_bytes
from benchmarks.vast_lab import vast_lab
from prober.domain.observation import Observation
from prober.domain.probe import ConnectionPolicy
from prober.domain.prompt import Prompt
from prober.domain.target import TextForm
from prober.endpoint.client import HttpEndpoint
from prober.prompt.live import LiveIndex
from prober.prompt.reading import read

BOUND = 4.0
TOGETHER_BOUND_MIB = 500.0
LARGEST = TextForm.WORD_STREAM
"""The form whose bodies are the larger ones."""
SERVICE = "prober.service.serve"
"""What a service at work holds beside its probes."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a process that probed tells of itself, in bytes."""

    before: float
    """Resident after one short probe: modules, tables and buffers that stay are not the large prompts'."""
    peak: float
    body: int
    """All texts as JSON."""


def memory(sizes: Sizes) -> Iterator[Figure]:
    """Growth of the process at its peak over what it held before, and all that it held at its peak."""
    for form in TextForm:
        alone = asyncio.run(_against_a_peer(sizes.prompt_tokens, form))
        growth = alone.peak - alone.before
        yield Figure(
            name=f"peak memory of a {sizes.prompt_tokens:,}-token probe, {form.value}",
            value=growth / alone.body,
            unit="x body",
            at_most=BOUND,
            beside=f"{growth / 1e6:.1f} MB for a body of {alone.body / 1e6:.2f} MB",
        )
    together = asyncio.run(_against_a_lab(sizes.long_tokens, LARGEST, sizes.in_flight))
    yield Figure(
        name=f"resident, {sizes.in_flight} probes of {sizes.long_tokens:,} tokens at once",
        value=together.peak / MIB,
        unit="MiB",
        at_most=TOGETHER_BOUND_MIB,
        beside=f"{together.before / MIB:.0f} MiB before; bodies of {together.body / MIB:.0f} MiB",
    )


async def _against_a_peer(tokens: int, form: TextForm) -> Measured:
    """One prompt; the server answers at once, and looks at nothing."""
    async with peer() as url:
        return await _in_a_process(url, tokens, form, 1)


async def _against_a_lab(tokens: int, form: TextForm, count: int) -> Measured:
    """Several prompts at once; the lab serves them and answers what it was asked for."""
    async with vast_lab(tokens) as url:
        return await _in_a_process(url, tokens, form, count, SERVICE)


async def _in_a_process(url: str, tokens: int, form: TextForm, count: int, *held: str) -> Measured:
    """`held`: modules that are imported first, as part of what the process holds."""
    arguments = ("-m", "benchmarks.memory", url, str(tokens), form.value, str(count), *held)
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0, "the measuring process failed"
    return Measured(**json.loads(output))


async def _measure(url: str, tokens: int, form: TextForm, count: int) -> Measured:
    live, endpoint = LiveIndex(KEYRING), endpoint_of(url)
    try:
        await _probe(endpoint, await _composed(SHORT_TOKENS, form, live), live)
        before = resident_bytes()
        # As in a wave of the runner: all are composed and remembered before the first is sent.
        prompts = [await _composed(tokens, form, live) for _ in range(count)]
        async with asyncio.TaskGroup() as group:
            probes = [group.create_task(_probe(endpoint, prompt, live)) for prompt in prompts]
    finally:
        await endpoint.close()
    _require_at_once([probe.result() for probe in probes])
    body = sum(len(prompt.text) + prompt.text.count("\n") for prompt in prompts)
    return Measured(before=before, peak=peak_bytes(), body=body)


async def _composed(tokens: int, form: TextForm, live: LiveIndex) -> Prompt:
    prompt = await asyncio.to_thread(prompt_of, tokens, form)
    live.remember(prompt, form)
    return prompt


async def _probe(endpoint: HttpEndpoint, prompt: Prompt, live: LiveIndex) -> Observation:
    """Send and read, as the runner does."""
    observation = await endpoint.send(probe_of(ConnectionPolicy.FRESH), prompt)
    assert observation.is_terminated, observation
    assert observation.refusal is None, observation
    await asyncio.to_thread(read, observation.text, observation.reasoning, prompt, KEYRING, live)
    return observation


def _require_at_once(observations: Sequence[Observation]) -> None:
    """The last request was out before the first answer began: all were in flight together."""
    marks = [(each.sent_at.timestamp(), each.timeline) for each in observations]
    last_sent = max(began + (timeline.body_sent or math.inf) for began, timeline in marks)
    first_answered = min(began + (timeline.first_token or 0) for began, timeline in marks)
    assert last_sent < first_answered, "the probes were not in flight together"


if __name__ == "__main__":
    url, tokens, form, count, *held = sys.argv[1:]
    for module in held:
        importlib.import_module(module)
    print(json.dumps(dataclasses.asdict(asyncio.run(_measure(url, int(tokens), TextForm(form), int(count))))))
