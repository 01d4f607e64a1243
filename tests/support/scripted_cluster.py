"""A cluster that plays a script, for tests of the lab's surfaces."""

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Callable, Mapping

from prober.lab.events import Chunk, Done, Event, GenerateRequest, Rejection, Stage

Step = Event | asyncio.Event | float | Exception
"""An event to yield, a gate or a pause in seconds to wait for, a fault to raise."""

ANSWER: tuple[Step, ...] = (
    Chunk(reasoning="let me see "),
    Chunk(content="red "),
    Chunk(content="fox"),
    Done(finish_reason="stop", prompt_tokens=17, completion_tokens=4, cached_tokens=None, reasoning_tokens=2),
)

SCHEDULER_TEXT = (
    "Input length (700000 tokens) exceeds the maximum allowed length (681274 tokens). "
    "Use a shorter input or enable --allow-auto-truncate."
)
TOKENIZER_TEXT = "The input (1048600 tokens) is longer than the model's context length (1048576 tokens)."


def rejection(stage: Stage, status: int = 400, message: str = SCHEDULER_TEXT) -> Rejection:
    """Build a refusal by one part of the cluster."""
    error_type = "BadRequestError" if status < 500 else "InternalServerError"
    return Rejection(status=status, message=message, error_type=error_type, stage=stage)


@dataclasses.dataclass
class ScriptedCluster:
    """Plays `script` for each request, and remembers what was asked and which generations were closed early."""

    script: tuple[Step, ...] = ANSWER
    numbers: Mapping[str, object] = dataclasses.field(default_factory=dict)
    requests: list[GenerateRequest] = dataclasses.field(default_factory=list)
    aborted: list[str] = dataclasses.field(default_factory=list)
    on_abort: Callable[[], None] = lambda: None
    is_running: bool = False

    async def start(self) -> None:
        self.is_running = True

    async def stop(self) -> None:
        self.is_running = False

    def facts(self) -> Mapping[str, object]:
        return self.numbers

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[Event, None]:
        self.requests.append(request)
        is_whole = False
        try:
            for step in self.script:
                match step:
                    case asyncio.Event():
                        await step.wait()
                    case float():
                        await asyncio.sleep(step)
                    case Exception():
                        raise step
                    case _:
                        is_whole = isinstance(step, Done | Rejection)
                        yield step
        finally:
            if not is_whole:
                self.aborted.append(request.request_id)
                self.on_abort()
