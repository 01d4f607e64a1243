"""Registry of scenarios: one line and one file each. They do not know each other."""

from prober.plan.scenarios.abort_storm import abort_storm
from prober.plan.scenarios.baseline import baseline
from prober.plan.scenarios.cache_sharing import cache_sharing
from prober.plan.scenarios.cohorts import cohorts
from prober.plan.scenarios.discover import discover
from prober.plan.scenarios.drift import drift
from prober.plan.scenarios.keepalive import keepalive
from prober.plan.scenarios.limit_sweep import limit_sweep
from prober.plan.scenarios.mixed_parameters import mixed_parameters
from prober.plan.scenarios.parallel_answers import parallel_answers
from prober.plan.scenarios.park_and_return import park_and_return
from prober.plan.scenarios.provoked_refusals import provoked_refusals
from prober.plan.scenarios.replay import replay
from prober.plan.scenarios.rollout import rollout
from prober.plan.scenarios.seed_and_probe import seed_and_probe
from prober.plan.scenarios.stream_contract import stream_contract
from prober.plan.scenarios.twins import twins
from prober.plan.stage import Scenario

SCENARIOS: dict[str, Scenario] = {
    "baseline": baseline,
    "seed_and_probe": seed_and_probe,
    "limit_sweep": limit_sweep,
    "abort_storm": abort_storm,
    "replay": replay,
    "park_and_return": park_and_return,
    "parallel_answers": parallel_answers,
    "mixed_parameters": mixed_parameters,
    "twins": twins,
    "provoked_refusals": provoked_refusals,
    "keepalive": keepalive,
    "rollout": rollout,
    "cache_sharing": cache_sharing,
    "drift": drift,
    "cohorts": cohorts,
    "stream_contract": stream_contract,
    "discover": discover,
}
"""Name in the configuration -> scenario."""
