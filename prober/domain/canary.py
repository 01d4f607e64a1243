"""Who a piece of canary text belongs to."""

import dataclasses

TENANT_BITS = 11
"""Tenant numbers are one symbol of the filler code: 0..2047."""

EPOCH_BITS = 5
SERIAL_BITS = 28
PROBE_BITS = EPOCH_BITS + SERIAL_BITS
"""Probe numbers are three symbols of the filler code; the key's epoch is their top five bits."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Canary:
    """Identity carried by all filler of one prompt: which tenant, which probe, under which key epoch."""

    tenant_number: int
    probe_number: int

    def __post_init__(self) -> None:
        """Reject numbers that the filler code cannot carry."""
        if not 0 <= self.tenant_number < 1 << TENANT_BITS:
            message = f"tenant number {self.tenant_number} is outside 0..{(1 << TENANT_BITS) - 1}"
            raise ValueError(message)
        if not 0 <= self.probe_number < 1 << PROBE_BITS:
            message = f"probe number {self.probe_number} is outside 0..{(1 << PROBE_BITS) - 1}"
            raise ValueError(message)

    @classmethod
    def of(cls, tenant_number: int, epoch: int, serial: int) -> "Canary":
        """Build from the epoch (0..31) of the key in force and a serial (0..2**28-1)."""
        if not 0 <= epoch < 1 << EPOCH_BITS or not 0 <= serial < 1 << SERIAL_BITS:
            message = f"epoch {epoch} or serial {serial} is out of range"
            raise ValueError(message)
        return cls(tenant_number, epoch << SERIAL_BITS | serial)

    @property
    def epoch(self) -> int:
        """Key epoch, 0..31."""
        return self.probe_number >> SERIAL_BITS

    def __str__(self) -> str:
        """Short form for people: `t0007-p1a2b3c4d5`, nine hex digits."""
        return f"t{self.tenant_number:04d}-p{self.probe_number:09x}"
