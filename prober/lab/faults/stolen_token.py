"""K11: a step's output is looked up in another row."""

from prober.lab.faults.fault import Fault

_PERIOD = 4


class StolenToken(Fault):
    """With the next step already submitted, row numbers of the batch as it is are used on tokens of the one before."""

    NAME = "stolen_token"
    KIND = "K11"
    SUMMARY = (
        "With several requests running, one step in four takes the pending tokens of the neighbouring row: words of "
        "another answer stand in this one."
    )
    SOURCE = "vLLM GHSA-v97p-wpxp-px84 (asynchronous scheduling with pipeline parallelism)"
    SCENE = "small"
    SCENARIO = "parallel_answers"
    FIXES = frozenset({"tokens_by_request"})

    def token_row(self, room: int, step: int, row: int, rows: int) -> int:
        """Another one."""
        if step % _PERIOD == room % _PERIOD and self.dice.strikes(StolenToken.NAME, f"{room} {step}"):
            return (row + 1) % rows
        return super().token_row(room, step, row, rows)
