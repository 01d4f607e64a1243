"""Types of what callers send and get: bounded, and free of what no database stores."""

from collections.abc import Callable, Sequence
from typing import Annotated, Generic, TypeVar

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

MOST_PER_PAGE = 200
LARGEST_ID = 2**31 - 1
"""What every database can count to."""

MOST_NOTE = 1_000

Item = TypeVar("Item", bound=BaseModel)
Stored = TypeVar("Stored")

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$", examples=["glm"])]
"""Of a target, schedule or scenario: what the configuration allows."""
RunId = Annotated[str, Path(pattern=r"^[A-Za-z0-9-]{1,64}$", examples=["5d0f4f2e-6c3b-4b7e-9d0a-2f1d7c9a8b10"])]
RecordId = Annotated[int, Path(ge=1, le=LARGEST_ID, examples=[17])]
"""Of a finding or an issue."""
PrintableLine = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"
PrintableText = r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*$"
Note = Annotated[str, Field(max_length=MOST_NOTE, pattern=PrintableText)]


class Input(BaseModel):
    """What a caller sends; fields that are not known are refused, since a misspelt one would be ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True)


class Output(BaseModel):
    """What a caller gets."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Paging(Input):
    """A place in a list that is read newest first."""

    limit: Annotated[int, Field(ge=1, le=MOST_PER_PAGE)] = 50
    """Most entries of one page."""


class PagingById(Paging):
    """Likewise for what the database numbers."""

    cursor: Annotated[int, Field(ge=1, le=LARGEST_ID)] | None = None
    """`next` of the page before."""


class PagingByKey(Paging):
    """Likewise for what has a name."""

    cursor: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")] | None = None
    """`next` of the page before."""


class Page(Output, Generic[Item]):
    """A part of a list, newest first."""

    items: list[Item]
    next: str | None
    """Send it as `cursor` for the next page; null: this is the last one."""


def page_of(
    stored: Sequence[Stored], limit: int, shown: Callable[[Stored], Item], key: Callable[[Stored], object]
) -> Page[Item]:
    """Make a page of at most `limit` entries, from one more than that where there are more."""
    items = stored[:limit]
    return Page(items=list(map(shown, items)), next=str(key(items[-1])) if len(stored) > limit else None)
