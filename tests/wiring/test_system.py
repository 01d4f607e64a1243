"""Clocks, randomness, the stop switch."""

import datetime as dt

from prober.domain.canary import SERIAL_BITS
from prober.wiring.system import RandomSerials, Switch, SystemClock


def test_dates_are_aware_and_utc_and_durations_never_negative():
    """A date without a zone could not be stored; a duration must not follow the wall clock."""
    clock = SystemClock()

    assert clock.now().utcoffset() == dt.timedelta(0)
    assert clock.monotonic() <= clock.monotonic()


def test_serials_are_fresh_and_in_range():
    """Serials fill their 28 bits: a thousand of them neither repeat nor stay small."""
    serials = {RandomSerials().draw() for _ in range(1_000)}

    # The birthday bound: a repetition among a thousand of 2**28 has probability 0.2 %, two of them 2e-6.
    assert len(serials) >= 999
    assert all(0 <= serial < 1 << SERIAL_BITS for serial in serials)
    assert max(serials) > 1 << (SERIAL_BITS - 2)


def test_a_switch_stays_thrown():
    """Once thrown, all probing ends."""
    switch = Switch()
    assert not switch.is_set()
    switch.set()
    assert switch.is_set()
