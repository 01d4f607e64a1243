"""Whose text came out, and from which request: the sentence that a finding's sightings make."""

import dataclasses

from prober.domain.finding import Finding
from prober.domain.reading import Sighting
from prober.domain.verdict import RunReport

WORDS_PER_BLOCK = 9
POSITION_BLOCKS = 2048
"""The filler's position counter counts blocks of nine words modulo 2,048."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """One sighting, told with names."""

    tenant_number: int
    tenant_name: str | None
    """None: no tenant of this configuration; another instance that shares the key."""
    canary: str
    probe_label: str | None
    """The first probe of this run that sent the text; None: sent by an earlier run or another instance."""
    times_sent: int
    """By this run."""
    tier: str
    windows: int
    first_block: int | None
    last_block: int | None
    evidence_bits: float


def attributions(report: RunReport, finding: Finding) -> tuple[Attribution, ...]:
    """Attribute every sighting of a finding, strongest first."""
    ordered = sorted(finding.sightings, key=lambda sighting: -sighting.evidence_bits)
    return tuple(_attribute(report, sighting) for sighting in ordered)


def _attribute(report: RunReport, sighting: Sighting) -> Attribution:
    canary = str(sighting.canary)
    return Attribution(
        tenant_number=sighting.canary.tenant_number,
        tenant_name=report.tenant_names.get(sighting.canary.tenant_number),
        canary=canary,
        probe_label=report.donor_labels.get(canary),
        times_sent=sum(probe.canary == canary for probe in report.probes),
        tier=sighting.tier.value,
        windows=sighting.windows,
        first_block=sighting.first_block,
        last_block=sighting.last_block,
        evidence_bits=round(sighting.evidence_bits, 1),
    )


def sentence(attribution: Attribution) -> str:
    """Say it in one plain sentence part: whose, which request, which part, how sure."""
    tenant = attribution.tenant_name or f"number {attribution.tenant_number} (not in this configuration)"
    return (
        f"text of tenant {tenant} from {_request(attribution)} (canary {attribution.canary}){_part(attribution)}, "
        f"{attribution.evidence_bits:.0f} bits of evidence"
    )


def _request(attribution: Attribution) -> str:
    if not attribution.probe_label:
        return "a request of an earlier run or another instance"
    request = f"its request {attribution.probe_label}"
    return (
        request if attribution.times_sent <= 1 else f"{request}, the first of {attribution.times_sent} with that text"
    )


def _part(attribution: Attribution) -> str:
    if attribution.first_block is None or attribution.last_block is None:
        return ""
    first, last = attribution.first_block * WORDS_PER_BLOCK, (attribution.last_block + 1) * WORDS_PER_BLOCK
    return f", words {first:,} to {last:,} (counted modulo {POSITION_BLOCKS * WORDS_PER_BLOCK:,})"
