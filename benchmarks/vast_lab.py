"""The embedded lab in a process of its own, as a cluster that serves several prompts of a million tokens at once.

`python -m benchmarks.vast_lab TIME_SCALE` prints its address as JSON and serves until it is terminated.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator

from benchmarks.material import SECRET, TENANT
from prober.lab.server import serve
from prober.lab.settings import LabSettings, Topology
from prober.lab.timing import prefill_seconds

PREFILL_SECONDS = 2.0
"""Real ones, of a prompt of any size, one after another: long enough for all others to come in meanwhile."""
CONTEXT_TOKENS = 2_097_152
PROMPTS = 8


@contextlib.asynccontextmanager
async def vast_lab(tokens: int) -> AsyncIterator[str]:
    """Run it; give its URL without a path. `tokens`: of the prompts that are to be in flight together."""
    time_scale = PREFILL_SECONDS / prefill_seconds(tokens)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.vast_lab", str(time_scale), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield str(json.loads(await process.stdout.readline())["url"])
    finally:
        process.terminate()
        await process.wait()


def _settings(time_scale: float) -> LabSettings:
    return LabSettings(
        topology=Topology.AGGREGATED,
        context_tokens=CONTEXT_TOKENS,
        prefill_pool_tokens=PROMPTS * CONTEXT_TOKENS,
        decode_pool_tokens=PROMPTS * CONTEXT_TOKENS,
        time_scale=time_scale,
        keys={SECRET: TENANT.name},
    )


if __name__ == "__main__":
    asyncio.run(serve(_settings(float(sys.argv[1])), "127.0.0.1", 0))
