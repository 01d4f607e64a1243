"""The canary's identity."""

import pytest

from prober.domain.canary import Canary


def test_the_epoch_lives_in_the_probe_number():
    """The key's epoch is readable from the decoded number alone."""
    canary = Canary.of(7, 31, 2**28 - 1)

    assert canary.probe_number == 2**33 - 1
    assert canary.epoch == 31
    assert str(canary) == "t0007-p1ffffffff"


@pytest.mark.parametrize(("tenant", "probe"), [(-1, 0), (2048, 0), (0, -1), (0, 2**33)])
def test_numbers_the_code_cannot_carry_are_refused(tenant: int, probe: int):
    """Out-of-range numbers are refused with the range."""
    with pytest.raises(ValueError, match="outside 0"):
        Canary(tenant, probe)


@pytest.mark.parametrize(("epoch", "serial"), [(-1, 0), (32, 0), (0, -1), (0, 2**28)])
def test_epochs_and_serials_out_of_range_are_refused(epoch: int, serial: int):
    """A serial must not spill into the epoch."""
    with pytest.raises(ValueError, match="out of range"):
        Canary.of(1, epoch, serial)
