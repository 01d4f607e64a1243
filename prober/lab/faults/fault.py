"""What a fault is."""

from typing import ClassVar

from prober.lab.seams import Seams


class Fault(Seams):
    """A bug of some inference server: a subclass overrides the one decision that upstream got wrong.

    An override asks `self.dice.strikes(self.NAME ...)` through its own class (`StubHandoff.NAME`), and falls back to
    `super()`, so that faults combine.
    """

    NAME: ClassVar[str]
    """Snake case; on the command line, in settings and reports."""
    KIND: ClassVar[str]
    """Code of the fault catalogue: K1 to K19."""
    SUMMARY: ClassVar[str]
    """One sentence: trigger, state that is wrong, what leaks."""
    SOURCE: ClassVar[str]
    """Public report or fix."""
    SCENE: ClassVar[str]
    """Name in `lab.scenes.SCENES` of the cluster it needs."""
    SCENARIO: ClassVar[str] = ""
    """Scenario of the prober that provokes it; empty: the first one for its kind."""
    FIXES: ClassVar[frozenset[str]] = frozenset()
    """Names of repairs that unmake it at its seam. Repairs with machinery of their own (`Fix`) need not stand here."""
