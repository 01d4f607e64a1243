"""Peak memory of composing, remembering and sending one large prompt, as a multiple of its body.

`python -m benchmarks.memory URL TOKENS FORM` measures within a process of its own and prints JSON.
"""

import asyncio
import json
import pathlib
import resource
import sys
from collections.abc import Iterator

from benchmarks.figure import Figure, Sizes
from benchmarks.material import KEYRING, SHORT_TOKENS, endpoint_of, probe_of, prompt_of
from benchmarks.peer import peer
from prober.domain.probe import ConnectionPolicy
from prober.domain.target import TextForm
from prober.prompt.live import LiveIndex
from prober.prompt.reading import read

BOUND = 4.0


def memory(sizes: Sizes) -> Iterator[Figure]:
    """Growth of the process at its peak over what it held before, divided by the bytes of the body."""
    for form in TextForm:
        growth, body = asyncio.run(_in_a_process(sizes.prompt_tokens, form))
        yield Figure(
            name=f"peak memory of a {sizes.prompt_tokens:,}-token probe, {form.value}",
            value=growth / body,
            unit="x body",
            at_most=BOUND,
            beside=f"{growth / 1e6:.1f} MB for a body of {body / 1e6:.2f} MB",
        )


async def _in_a_process(tokens: int, form: TextForm) -> tuple[int, int]:
    async with peer() as url:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "benchmarks.memory", url, str(tokens), form.value, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
        assert process.returncode == 0, "the measuring process failed"
        measured = json.loads(output)
        return int(measured["growth"]), int(measured["body"])


async def _measure(url: str, tokens: int, form: TextForm) -> dict[str, int]:
    live = LiveIndex(KEYRING)
    # A short probe first: modules, tables and buffers that stay are not the large prompt's.
    await _probe(url, SHORT_TOKENS, form, live)
    before = _resident_bytes()
    body = await _probe(url, tokens, form, live)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"growth": peak - before, "body": body}


async def _probe(url: str, tokens: int, form: TextForm, live: LiveIndex) -> int:
    """Compose, remember, send, read, as the runner does; returns the bytes of the text as JSON."""
    endpoint = endpoint_of(url)
    prompt = await asyncio.to_thread(prompt_of, tokens, form)
    live.remember(prompt, form)
    observation = await endpoint.send(probe_of(ConnectionPolicy.FRESH), prompt)
    assert observation.is_terminated, observation
    await asyncio.to_thread(read, observation.text, observation.reasoning, prompt, KEYRING, live)
    await endpoint.close()
    return len(prompt.text) + prompt.text.count("\n")


def _resident_bytes() -> int:
    pages = int(pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_measure(sys.argv[1], int(sys.argv[2]), TextForm(sys.argv[3])))))
