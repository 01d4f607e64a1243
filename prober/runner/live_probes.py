"""The live probes of a process, shared by all runs that it has under way."""

import asyncio
from collections.abc import Sequence

from prober.domain.canary import Canary
from prober.domain.observation import Observation
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from prober.domain.reading import Reading
from prober.prompt.keyring import Keyring
from prober.prompt.live import LiveIndex
from prober.prompt.reading import read


class LiveProbes:
    """An index of live probes that is read in threads and changed between two readings only.

    A prompt that is entered while an answer is read would move donors under the reading: it would fail or, worse, name
    the wrong one. Readings go one after the other too, since they keep what they work out in the index.
    """

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._index = LiveIndex(keyring)
        self._turn = asyncio.Lock()

    def knows(self, canary: Canary) -> bool:
        """Whether the canary is live."""
        return self._index.knows(canary)

    async def remember(self, planned: Sequence[tuple[Probe, Prompt]]) -> None:
        """Hold prompts about to be sent, once no answer is being read."""
        async with self._turn:
            for probe, prompt in planned:
                self._index.remember(prompt, probe.prompt.form, probe.options)

    async def read(self, probe: Probe, prompt: Prompt, observation: Observation) -> Reading:
        """Read an answer's text in a thread."""
        await self._turn.acquire()
        reading = asyncio.create_task(
            asyncio.to_thread(
                read,
                observation.text,
                observation.reasoning,
                prompt,
                self._keyring,
                self._index,
                other=observation.other_text,
                options=probe.options,
            )
        )
        reading.add_done_callback(self._give_turn)
        # A thread cannot be cut: where its run is, it goes on, and its turn with it.
        return await asyncio.shield(reading)

    def _give_turn(self, reading: asyncio.Task[Reading]) -> None:
        self._turn.release()
        if not reading.cancelled():
            # Seen, should nobody wait for it any more.
            reading.exception()
