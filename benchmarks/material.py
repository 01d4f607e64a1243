"""Prompts, probes and settings that the benchmarks measure with."""

import functools
import itertools

from prober.domain.canary import SERIAL_BITS, Canary
from prober.domain.probe import ConnectionPolicy, Expectation, Probe, PromptSpec, Role
from prober.domain.prompt import Prompt
from prober.domain.target import Target, TextForm
from prober.domain.tenant import Tenant
from prober.endpoint.client import HttpEndpoint
from prober.endpoint.dialects import DIALECTS
from prober.endpoint.settings import ConnectionSettings
from prober.prompt.composer import compose
from prober.prompt.keyring import Keyring
from prober.prompt.tokens import Calibration
from prober.wiring.system import SystemClock

SHORT_TOKENS = 1_000
SECRET = "benchmark-key"  # noqa: S105 - opens nothing
TENANT = Tenant(name="alpha", number=1)
KEYRING = Keyring.create(bytes(range(32)))
CALIBRATIONS = {
    form: Calibration(
        form=form, fixed_tokens=120, line_tokens=float(line_tokens), instruction_tokens=16.0, is_exact=True
    )
    for form, line_tokens in ((TextForm.WORD_STREAM, 17), (TextForm.NUMBERED_LINES, 30))
}
"""Tokens as the lab and most tokenizers count them."""
_serials = (number * 2_654_435_761 % (1 << SERIAL_BITS) for number in itertools.count(1))
"""Spread like drawn ones."""


def prompt_of(tokens: int, form: TextForm = TextForm.WORD_STREAM) -> Prompt:
    """Compose a prompt with a canary of its own."""
    canary = Canary.of(TENANT.number, KEYRING.current_epoch, next(_serials))
    return compose(PromptSpec(tokens=tokens, form=form), canary, KEYRING, CALIBRATIONS[form])


def probe_of(connection: ConnectionPolicy) -> Probe:
    """Plan one streamed probe."""
    return Probe(
        label="benchmark/0001",
        scenario="benchmark",
        tenant=TENANT,
        role=Role.CHECK,
        prompt=PromptSpec(tokens=SHORT_TOKENS),
        expectation=Expectation.SERVE,
        max_output_tokens=16,
        connection=connection,
    )


def endpoint_of(url: str) -> HttpEndpoint:
    """Build a sender whose pacing never waits; `url` without a path."""
    return HttpEndpoint(
        target=Target(name="benchmark", model="lab-llm", dialect="openai-chat", context_tokens=2_000_000),
        settings=ConnectionSettings(base_url=f"{url}/v1", starts_per_period=1_000_000),
        credentials={TENANT.name: SECRET},
        clock=SystemClock(),
        dialect=DIALECTS["openai-chat"],
    )


@functools.cache
def natural_text(characters: int) -> str:
    """Give English prose: the Python language reference, which every Python carries."""
    from pydoc_data.topics import topics  # noqa: PLC0415 - half a megabyte that only one benchmark needs

    prose = "\n".join(topics.values())
    return (prose * (characters // len(prose) + 1))[:characters]
