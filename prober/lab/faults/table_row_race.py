"""K6: a moved row's page table is read while it is half copied."""

from prober.lab.allocator import Pages
from prober.lab.faults.fault import Fault


class TableRowRace(Fault):
    """The copy of the page table runs on a stream of its own, and the next forward step does not wait for it."""

    NAME = "table_row_race"
    KIND = "K6"
    SUMMARY = (
        "A row moves into the hole of one that ended; for one forward step all but the first page of its table are "
        "still those of the request that left, and the step's tokens are what its text would have there."
    )
    SOURCE = "SGLang issues #18744 and #18803 (overlap scheduling with multi-token prediction)"
    SCENE = "small-speculative"
    SCENARIO = "parallel_answers"
    FIXES = frozenset({"step_after_copy"})

    def table_after_move(self, room: int, moved: Pages, left: Pages) -> Pages:
        """All but the first page of the other."""
        right = super().table_after_move(room, moved, left)
        if not self.dice.strikes(TableRowRace.NAME, room):
            return right
        mixed = right.copy()
        mixed[1:] = left[1:]
        return mixed
