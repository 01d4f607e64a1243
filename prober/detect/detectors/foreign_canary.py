"""Text of another prompt in the answer: whose, from which request, which part, how sure."""

from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.reading import FragmentTally, Sighting, Tier
from prober.prompt.sightings import PAGE_BITS

_NAME = "foreign_canary"

WARN_BITS = 16.0
"""Below it fragments may be chance: ordinary language yields as many in at most one answer of 65,536."""

_ENOUGH_LIVE_WINDOWS = 2


def detect_foreign_canary(evidence: Evidence) -> tuple[Finding, ...]:
    """Judge decoded windows, whole phrases and fragments, of whatever answer, cut or erroneous ones included.

    A phrase names its prompt as a window does: 33 bits of three words, 66 of six, less the live prompts it may fit.
    """
    windows = (sighting for sighting in evidence.reading.foreign if sighting.tier is not Tier.FRAGMENTS)
    seen = tuple(_of_sighting(evidence, sighting) for sighting in windows)
    accused = {
        sighting.canary.tenant_number
        for finding in seen
        if finding.outcome is Outcome.VIOLATION
        for sighting in finding.sightings
    }
    # Windows of a tenant explain its fragments too: those would only repeat the same leak with less certainty.
    tallied = tuple(
        _of_tally(evidence, tally)
        for tally in evidence.reading.fragments
        if tally.evidence_bits >= WARN_BITS and tally.tenant_number not in accused
    )
    return seen + tallied


def _of_sighting(evidence: Evidence, sighting: Sighting) -> Finding:
    is_certain = sighting.evidence_bits >= PAGE_BITS
    repeats = sighting.tier is Tier.LIVE and sighting.windows >= _ENOUGH_LIVE_WINDOWS
    is_decoded = sighting.tier in {Tier.CODE, Tier.PHRASE} or repeats
    is_late = not sighting.is_live or sighting.canary.epoch != evidence.prompt.canary.epoch
    origin = "sent by an earlier run or another instance" if is_late else "sent in this run"
    return Finding(
        detector=_NAME,
        outcome=Outcome.VIOLATION if is_certain or repeats else Outcome.SUSPECT,
        reason=Reason.LATE_ECHO if is_late else Reason.FOREIGN_CANARY,
        message=(
            f"The answer holds {_what(sighting)} canary {sighting.canary}, "
            f"{_whose(evidence, sighting.canary.tenant_number)}, {origin}{_windows(sighting)}, "
            f"{sighting.evidence_bits:.1f} bits."
        ),
        probe_label=evidence.probe.label,
        evidence_bits=sighting.evidence_bits,
        sightings=(sighting,),
        is_confirmed=is_certain and is_decoded,
    )


def _of_tally(evidence: Evidence, tally: FragmentTally) -> Finding:
    source = "" if tally.canary is None else f", best explained by canary {tally.canary}"
    return Finding(
        detector=_NAME,
        outcome=Outcome.VIOLATION if tally.evidence_bits >= PAGE_BITS else Outcome.SUSPECT,
        reason=Reason.FOREIGN_FRAGMENTS,
        message=(
            f"The answer holds fragments of {_whose(evidence, tally.tenant_number)}{source}: "
            f"{tally.groups} code groups, {tally.pairs} word pairs, {tally.exclusive_words} exclusive words, "
            f"{tally.evidence_bits:.1f} bits."
        ),
        probe_label=evidence.probe.label,
        evidence_bits=tally.evidence_bits,
    )


def _what(sighting: Sighting) -> str:
    return "the phrase to recall of" if sighting.tier is Tier.PHRASE else "text of"


def _windows(sighting: Sighting) -> str:
    if sighting.tier is Tier.PHRASE:
        return ""
    return f": {sighting.windows} decoded windows{_blocks(sighting)}"


def _whose(evidence: Evidence, tenant_number: int) -> str:
    if tenant_number == evidence.probe.tenant.number:
        return f"another prompt of the same tenant (number {tenant_number})"
    return f"another tenant (number {tenant_number})"


def _blocks(sighting: Sighting) -> str:
    if sighting.first_block is None or sighting.last_block is None:
        return ""
    return f", blocks {sighting.first_block} to {sighting.last_block} of that prompt"
