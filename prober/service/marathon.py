"""What a marathon against healthy labs must reach before its silence means anything."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from prober.plan.scenarios import SCENARIOS
from prober.service.fault_runs import FaultRun, FaultSeen, healthy_runs
from prober.service.fault_tallies import HealthyTally, fired, tally_healthy

LEAST_PROBES = 20_000
LEAST_PROBES_PER_SCENARIO = 1_000
LEAST_FIRED = 50

HONEST_FAILINGS = (
    "copy_errors",
    "recall_misses",
    "refusals",
    "paraphrases",
    "looping_answers",
    "overthinking",
    "reasoned_answers",
    "batch_variations",
    "timings_quickened",
    "timings_slowed",
    "queue_waits",
    "slow_tails",
    "load_failures",
    "prefix_hits",
    "usage_null",
    "usage_handed_over",
    "usage_counted_twice",
    "prompts_truncated",
    "rate_limited",
    "upstream_losses",
    "retries",
    "fallbacks",
)
"""Counters of the lab: what honest LLMs, machines and operators do and a prober must bear, each often enough."""


def marathon_runs(seen: Collection[FaultSeen], *, seeds: int, settings: Mapping[str, int]) -> Iterator[FaultRun]:
    """Plan runs against healthy labs, one after the other, until enough was sent or all seeds are used up.

    When to stop depends on counts of probes and of honest failings only, never on what a run concluded: silence so
    gained is as good as that of a fixed number of runs.

    Args:
        seen: the runs that ended so far; it grows while this is drawn from.
        seeds: most runs of each scenario.
        settings: of the scenarios.
    """
    for seed in range(seeds):
        for run in healthy_runs(seed=seed, settings=settings):
            rows = tally_healthy(seen)
            if not shortfalls(rows, fired(seen)):
                return
            sent = {row.scenario: row.probes for row in rows}
            short = [name for name in SCENARIOS if sent.get(name, 0) < LEAST_PROBES_PER_SCENARIO]
            if run.scenario in short or not short:
                yield run


def in_rounds(rounds: int) -> Mapping[str, int]:
    """Settings of the scenarios for so many rounds, those that do not go in rounds included."""
    return {"rounds": rounds, "baseline_probes": rounds, "over_limit_probes": rounds}


def shortfalls(rows: Iterable[HealthyTally], fired: Mapping[str, int]) -> list[str]:
    """Say in a sentence each what a marathon has not reached; nothing when its silence counts.

    Args:
        rows: one per scenario; a scenario without a row sent nothing.
        fired: how often each counter of the lab came up, all runs together.
    """
    probes = {row.scenario: row.probes for row in rows}
    short = (
        [] if sum(probes.values()) >= LEAST_PROBES else [f"only {sum(probes.values()):,} of {LEAST_PROBES:,} probes"]
    )
    short += [
        f"{scenario} sent only {probes.get(scenario, 0):,} of {LEAST_PROBES_PER_SCENARIO:,} probes"
        for scenario in SCENARIOS
        if probes.get(scenario, 0) < LEAST_PROBES_PER_SCENARIO
    ]
    return short + [
        f"{name} came up only {fired.get(name, 0)} of {LEAST_FIRED} times"
        for name in HONEST_FAILINGS
        if fired.get(name, 0) < LEAST_FIRED
    ]
