"""K5: two rooms are taken for one."""

from prober.lab.faults.fault import Fault

_KEYS = 4


class RoomCollision(Fault):
    """Rooms are told apart by their last two bits."""

    NAME = "room_collision"
    KIND = "K5"
    SUMMARY = (
        "Two requests in flight get the same key; the first one's pages go to the second one's destination, which "
        "answers the other prompt, while the first waits in vain."
    )
    SOURCE = "SGLang issue #22716 (metadata slots shared by pipeline stages)"
    SCENE = "small-pulling"
    SCENARIO = "parallel_answers"
    FIXES = frozenset({"unique_rooms"})

    def room_key(self, room: int) -> int:
        """Forget most of it."""
        key = super().room_key(room)
        return -1 - key % _KEYS if self.dice.strikes(RoomCollision.NAME, room) else key
