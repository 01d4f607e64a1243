"""What notifications need from the world; `wiring` hands it over."""

from collections.abc import Mapping
from typing import Protocol


class HttpAnswer(Protocol):
    """What came back from one POST."""

    @property
    def status(self) -> int | None:
        """HTTP status; None: no answer at all."""
        ...

    @property
    def fault(self) -> str:
        """Why there is no answer, in our words."""
        ...

    @property
    def retry_after(self) -> float | None:
        """Seconds that the receiver asks us to wait."""
        ...

    @property
    def body(self) -> bytes:
        """The beginning of what it said."""
        ...


class HttpClient(Protocol):
    """Posts to one receiver: no redirect, no retry, bounded in time and size. Never raises for what the peer did."""

    async def post(self, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        """Post once."""
        ...
