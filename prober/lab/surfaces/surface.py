"""One way to ask the lab for a generation: how to read a request, how to shape and refuse an answer."""

from collections.abc import Mapping
from typing import Protocol

from prober.lab.surfaces.asking import Asked
from prober.lab.surfaces.shape import Refused, Shape, Stamp


class Surface(Protocol):
    """Stateless; one instance serves all requests of its route."""

    @property
    def name(self) -> str:
        """Short name for records."""
        ...

    def ask(self, fields: Mapping[str, object]) -> Asked | Refused:
        """Read the request's fields; where the path names the LLM, it stands in `model`.

        Raises:
            RequestError: a field is wrong. Refusals of any other kind are returned.
        """
        ...

    def shape(self, asked: Asked, stamp: Stamp) -> Shape:
        """Choose how the answer looks."""
        ...

    def unauthorised(self) -> Refused:
        """Answer for a missing or unknown key."""
        ...

    def invalid(self, message: str) -> Refused:
        """Answer for a request that fails validation."""
        ...

    def too_many_bytes(self) -> Refused:
        """Answer for a body above the limit."""
        ...

    def busy(self) -> Refused:
        """Answer for a caller who would rather be refused than queued."""
        ...
