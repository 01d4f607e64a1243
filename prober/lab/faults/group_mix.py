"""K15: names of models are matched across model groups."""

from prober.lab.faults.fault import Fault


class GroupMix(Fault):
    """The look-up compares raw names, and another group's LLM has the same one."""

    NAME = "model_group_mix"
    KIND = "K15"
    SUMMARY = (
        "A model's name is matched against the raw names behind every group; requests are spread over the backends of "
        "unrelated groups as well, and another LLM answers under the name that was asked for."
    )
    SOURCE = "LiteLLM #38216"
    SCENE = "gateway-groups"
    SCENARIO = "cohorts"
    FIXES = frozenset({"names_within_group"})

    def matches_raw_names(self, number: int) -> bool:
        """Match them."""
        return self.dice.strikes(GroupMix.NAME, number) or super().matches_raw_names(number)
