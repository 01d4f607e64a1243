"""Decisions about who is admitted, when pages are let go of, and whose handoff is whose."""


class AdmissionSeams:
    """Right decisions of admission, handoff and release."""

    def admits_refused(self, room: int) -> bool:
        """Whether a queue lets a request pass that was refused already: it asks "finished?" and not "rejected?"."""
        del room
        return False

    def admits_invalid(self, room: int) -> bool:
        """Whether a queue lets a request pass whose form the scheduler has just refused."""
        del room
        return False

    def room_key(self, room: int) -> int:
        """By what prefill and decode tell one room from another."""
        return room

    def holds_until_pulled(self, room: int) -> bool:
        """Whether the prefill keeps a prompt's pages until all of them are with decode."""
        del room
        return True

    def gives_worker_back(self, room: int) -> bool:
        """Whether a send that was aborted under way leaves its transfer worker free for the next one."""
        del room
        return True

    def tells_failure(self, room: int) -> bool:
        """Whether a request that failed is told so, and not written up as an answer of no tokens."""
        del room
        return True

    def releases_before_drained(self, room: int) -> bool:
        """Whether an abort frees decode's pages while the prefill may still write into them."""
        del room
        return False
