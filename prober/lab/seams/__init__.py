"""Seams: every decision of the lab at which an upstream bug sat, made rightly here. A fault overrides one of them."""

from prober.lab.dice import Dice
from prober.lab.seams.admission import AdmissionSeams
from prober.lab.seams.batch import BatchSeams
from prober.lab.seams.cache import CacheSeams
from prober.lab.seams.front import FrontSeams


class Seams(AdmissionSeams, CacheSeams, BatchSeams, FrontSeams):
    """All decisions, made rightly. Faults are subclasses that are mixed together: see `lab.faults.seams_of`."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
