"""K11: placeholders are written out."""

from prober.lab.faults.fault import Fault


class LostToken(Fault):
    """A request that joins a running batch keeps the placeholders of tokens that were sampled later."""

    NAME = "lost_token"
    KIND = "K11"
    SUMMARY = (
        "A request that joins others keeps its placeholders; they are counted as tokens and have no text: status 200, "
        "finish reason `stop`, and no content."
    )
    SOURCE = "vLLM issues #28787 and #38624, tenstorrent/vllm issue #396 (null content in 60 % of its requests)"
    SCENE = "small"
    SCENARIO = "parallel_answers"
    FIXES = frozenset({"fill_before_output"})

    def fills_placeholders(self, room: int) -> bool:
        """Leave them."""
        return not self.dice.strikes(LostToken.NAME, room) and super().fills_placeholders(room)
