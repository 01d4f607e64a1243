"""Registry of scenarios: one line and one file each. They do not know each other."""

from prober.plan.scenarios.baseline import baseline
from prober.plan.scenarios.limit_sweep import limit_sweep
from prober.plan.scenarios.seed_and_probe import seed_and_probe
from prober.plan.stage import Scenario

SCENARIOS: dict[str, Scenario] = {
    "baseline": baseline,
    "seed_and_probe": seed_and_probe,
    "limit_sweep": limit_sweep,
}
"""Name in the configuration -> scenario."""
