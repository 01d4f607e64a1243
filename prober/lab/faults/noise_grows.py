"""K18: logits grow noisier with every request."""

from prober.lab.faults.fault import Fault

_FULL_AFTER = 200
_MOST = 0.6


class NoiseGrows(Fault):
    """State that is carried from request to request drifts, and nothing resets it but a restart."""

    NAME = "noise_grows"
    KIND = "K18"
    SUMMARY = (
        "Noise in the logits grows with the square of the requests served since the start, to 60 % of all tokens after "
        "200: letters of several scripts, half characters and loops."
    )
    SOURCE = "SGLang issue #23020 (accuracy 95, then 75, then 50 % within some 100 requests)"
    SCENE = "small"
    SCENARIO = "drift"
    FIXES = frozenset({"reset_scales"})

    def noise(self, room: int, served: int) -> float:
        """As much as has come together."""
        right = super().noise(room, served)
        if not self.dice.strikes(NoiseGrows.NAME, room):
            return right
        return max(right, _MOST * min(1.0, served / _FULL_AFTER) ** 2)
