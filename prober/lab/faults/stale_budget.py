"""K10: the reasoning budget of a request that left stays on its row."""

from prober.lab.faults.fault import Fault


class StaleBudget(Fault):
    """Budgets are kept by the number of the row, and entries are written over, never removed."""

    NAME = "stale_budget"
    KIND = "K10"
    SUMMARY = (
        "A request with a reasoning budget leaves; the one without that moves into its row, or joins there next, has "
        "to end its reasoning where the other one's budget does."
    )
    SOURCE = "vLLM pull request #51890 (ThinkingBudgetStateHolder.sync_batch leaves an entry on both rows)"
    SCENE = "small-batched-thinking"
    FIXES = frozenset({"move_budget_with_row"})

    def reasoning_budget_in_row(self, room: int, own: int | None, left: int) -> int | None:
        """What is there already."""
        if own is None and self.dice.strikes(StaleBudget.NAME, room):
            return left
        return super().reasoning_budget_in_row(room, own, left)
