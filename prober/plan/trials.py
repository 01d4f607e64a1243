"""How many checks it takes to exclude a leak rate, and what to say when there were fewer."""

from prober.stats.bounds import leak_rate_upper95, probes_needed

CONFIDENCE = 0.95
"""That a leak at the excluded rate would have shown in at least one of the checks."""


def checks_for(rate: float) -> int:
    """Count the clean checks that exclude a leak rate per check: 0.1 % takes 2,995 of them, 0.03 % takes 9,985."""
    return probes_needed(rate, CONFIDENCE)


def missing_checks(scenario: str, rate: float | None, clean: int) -> tuple[str, ...]:
    """Say how many clean checks a scenario lacks, and which rate those that it has exclude; nothing where none lacks.

    Args:
        scenario: its name, for the sentence.
        rate: leak rate per check that is to be excluded; None: none was named.
        clean: checks that were judged and found clean.
    """
    if rate is None or clean >= checks_for(rate):
        return ()
    wanted = checks_for(rate)
    reached = f"rates above {leak_rate_upper95(clean):.2%} are" if clean else "no rate is"
    message = (
        f"{clean:,} of the {wanted:,} clean checks came back that {scenario} needs to exclude a leak rate of "
        f"{rate:.2%} at 95 % (excluded_leak_rate): {wanted - clean:,} are missing, and {reached} excluded so far."
    )
    return (message,)
