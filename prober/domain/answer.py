"""What the remote did with one probe, named."""

import enum


class Answer(enum.Enum):
    """What the remote did with one probe (design section 4)."""

    SERVED_FULL = "served_full"
    TRUNCATED = "truncated"
    REROUTED = "rerouted"
    EMPTY = "empty"
    STARVED = "starved"
    REJECTED_OK = "rejected_ok"
    REJECTED_IN_STREAM = "rejected_in_stream"
    REFUSED_OTHERWISE = "refused_otherwise"
    HANG = "hang"
    ABANDONED = "abandoned"
    BUSY = "busy"
    UNAUTHORISED = "unauthorised"
    NOT_FOUND = "not_found"
    TOO_MANY_BYTES = "too_many_bytes"
    SERVER_ERROR = "server_error"
    MALFORMED = "malformed"
    UNREACHABLE = "unreachable"

    @property
    def is_served(self) -> bool:
        """The remote generated an answer (whole or not)."""
        return self in _SERVED

    @property
    def is_rejected(self) -> bool:
        """Refused as may be due, for its length or for a fault of ours in it: by status, or by an error frame."""
        return self in {Answer.REJECTED_OK, Answer.REJECTED_IN_STREAM}


_SERVED = frozenset({Answer.SERVED_FULL, Answer.TRUNCATED, Answer.REROUTED, Answer.EMPTY, Answer.STARVED})
