"""Learns what text costs in the target's tokens, from a few small probes."""

from collections.abc import Generator

from prober.domain.answer import Answer
from prober.domain.evidence import WaveEvidence
from prober.domain.probe import Expectation, Probe, Role, Wave
from prober.domain.target import Target
from prober.domain.tenant import Tenant
from prober.plan.limits import reported_tokens
from prober.prompt import tokens
from prober.prompt.tokens import Calibration

CALIBRATION_OUTPUT_TOKENS = 64
"""Room for the needles: these first answers are also the positive control of the LLM's recall."""


def calibrate(target: Target, tenant: Tenant, attempt: int = 1) -> Generator[Wave, WaveEvidence, Calibration | None]:
    """Send the calibration probes one by one; return None as soon as a count is missing, or when they do not add up.

    Args:
        target: whose tokenizer and template to learn.
        tenant: who pays.
        attempt: 1 for the first calibration of a run; later ones get labels of their own.
    """
    scenario = "calibration" if attempt == 1 else f"calibration-{attempt}"
    counts: list[int] = []
    model_reported: str | None = None
    for number, spec in enumerate(tokens.calibration_specs(target.text_form, target.ask), 1):
        probe = Probe(
            label=f"{scenario}/{number:04d}",
            scenario="calibration",
            tenant=tenant,
            role=Role.CALIBRATION,
            prompt=spec,
            expectation=Expectation.SERVE,
            max_output_tokens=CALIBRATION_OUTPUT_TOKENS,
        )
        (judgement,) = yield Wave(probes=(probe,), purpose="calibrate token counts")
        count = None if judgement.evidence.answer is Answer.REROUTED else reported_tokens(judgement)
        if count is None:
            return None
        counts.append(count)
        model_reported = judgement.evidence.observation.model_reported
    try:
        return tokens.calibrate(target.text_form, counts, ask=target.ask, model_reported=model_reported)
    except ValueError:
        return None
