"""What a receiver's format decides. A new one is its own file and one line in `formats/__init__.py`."""

import dataclasses
import datetime as dt
from collections.abc import Callable, Sequence

from prober.domain.notice import Notice
from prober.notify.message import Message


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How one kind of receiver is told. Pure."""

    compose: Callable[[Sequence[Notice], str | None, dt.datetime], Sequence[Message]]
    """Notices, the receiver's secret and the date -> messages, sent one after the other."""
    path: str = ""
    """What is appended to the configured address."""
    default_url: str | None = None
    folds: bool = True
    """One message may stand for several notices; where it may not, they wait for their turn."""
    takes_verdicts: bool = True
    refresh_seconds: float | None = None
    """How often it must be told all open issues anew; None: it remembers."""
    secret_length: int | None = None
    """Characters that its secret must have; None: any."""
