"""K17: an error ends the answer without a word."""

from prober.lab.faults.fault import Fault


class SwallowedError(Fault):
    """The handler of errors ends the stream and says nothing."""

    NAME = "swallowed_error"
    KIND = "K17"
    SUMMARY = (
        "A refusal by the inference server reaches the client as 200 and an answer that ends: no error frame, no "
        "finish reason, no terminator, or an empty body."
    )
    SOURCE = "LiteLLM #38610, SGLang #40459"
    SCENE = "gateway"
    SCENARIO = "provoked_refusals"
    FIXES = frozenset({"errors_passed_on"})

    def passes_error_on(self, number: int) -> bool:
        """Swallow it."""
        return not self.dice.strikes(SwallowedError.NAME, number) and super().passes_error_on(number)
