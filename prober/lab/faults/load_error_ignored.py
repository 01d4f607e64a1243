"""K4: a load that failed counts as done."""

from prober.lab.faults.fault import Fault


class LoadErrorIgnored(Fault):
    """The link to a tier fails, always for the same prompts, and nobody is told."""

    NAME = "load_error_ignored"
    KIND = "K4"
    SUMMARY = (
        "The pages of a prompt cannot be loaded from their tier, and count as loaded: the newly taken pages keep what "
        "was evicted from them. It happens to the same prompts again and again, and the cache keeps the wrong pages."
    )
    SOURCE = "vLLM issue #52234 (NIXL, kv_load_failure_policy)"
    SCENE = "small-tiered"
    FIXES = frozenset({"recompute_failed_loads"})

    def trusts_failed_load(self, opening: bytes) -> bool:
        """Trust it."""
        return self.dice.strikes(LoadErrorIgnored.NAME, opening.hex()) or super().trusts_failed_load(opening)
