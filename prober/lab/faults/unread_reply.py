"""K14: a cancelled exchange leaves its reply on a pooled connection."""

from prober.lab.faults.fault import Fault


class UnreadReply(Fault):
    """Cancelling the wait does not end the connection."""

    NAME = "unread_reply"
    KIND = "K14"
    SUMMARY = (
        "A request that is cancelled after it was sent gives its connection back with its reply still to come; "
        "every later request on it reads the reply before its own, until the connection dies."
    )
    SOURCE = "OpenAI, 20 March 2023; redis-py #2624 and #2665"
    SCENE = "gateway"
    SCENARIO = "keepalive"
    FIXES = frozenset({"discard_cancelled_connection"})

    def puts_back_unread(self, number: int) -> bool:
        """Put it back."""
        return self.dice.strikes(UnreadReply.NAME, number) or super().puts_back_unread(number)
