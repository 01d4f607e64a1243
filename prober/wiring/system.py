"""The machine behind the runner's ports: clocks, randomness, a stop switch."""

import datetime as dt
import secrets
import time

from prober.domain.canary import SERIAL_BITS


class SystemClock:
    """The machine's clocks. Satisfies `runner.ports.Clock`."""

    def now(self) -> dt.datetime:
        """Aware UTC date."""
        return dt.datetime.now(dt.UTC)

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()


class RandomSerials:
    """Serials from the system's random source. Satisfies `runner.ports.Serials`."""

    def draw(self) -> int:
        """Uniform over 0..2**28-1."""
        return secrets.randbelow(1 << SERIAL_BITS)


class Switch:
    """A stop switch in memory. Satisfies `runner.ports.StopSwitch`."""

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        """End all probing at the next wave."""
        self._is_set = True

    def is_set(self) -> bool:
        """True once probing must end."""
        return self._is_set
