"""`/vault`: evidence that holds foreign text. The one route that shows any."""

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Query

from prober.domain.errors import VaultError
from prober.service.api.access import AtDesk, EvidenceReader
from prober.service.api.document import answers
from prober.service.api.parameters import Output, RecordId
from prober.service.api.problems import Problem, ProblemKind, not_found
from prober.store.vault_rows import StoredExcerpt

router = APIRouter(prefix="/vault", tags=["vault"])

Reason = Annotated[
    str,
    Query(
        min_length=4,
        max_length=500,
        pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*[^\s\x00-\x1f\x7f-\x9f\u2028\u2029][^\x00-\x1f\x7f-\x9f\u2028\u2029]*$",
        description="Why it is read: logged with the token's name, before anything is shown.",
        examples=["incident 4711: whose prompt is it?"],
    ),
]


class ExcerptShape(Output):
    """A piece of an answer that none of our texts explains."""

    channel: str
    """Where in the answer it stood: `content`, `reasoning`, `other`."""
    start: int
    """Offset in its channel, in characters."""
    characters: int
    kept_at: dt.datetime
    sha256: str | None
    """Of the text, where it was kept without a vault key."""
    text: str | None
    """Foreign text; null where only hash and length were kept. Half surrogates stand as escapes."""


class EvidenceShape(Output):
    """What the vault keeps for a finding."""

    finding_id: int
    excerpts: list[ExcerptShape]
    """In the answer's order; empty where nothing was kept, or nothing is left."""


@router.get(
    "/{finding_id}",
    responses=answers(ProblemKind.NOT_FOUND, ProblemKind.DATABASE_UNAVAILABLE, ProblemKind.VAULT_LOCKED),
)
async def show_evidence(finding_id: RecordId, reason: Reason, desk: AtDesk, caller: EvidenceReader) -> EvidenceShape:
    """Show foreign text. That it was read, by which token and why, is logged first; the log is only ever added to."""
    if await desk.lookups.finding(finding_id) is None:
        raise not_found("finding")
    try:
        excerpts = await desk.vault.show(finding_id, caller.name, reason)
    except VaultError:
        detail = "The service has no vault key, another one, or what is stored was tampered with."
        raise Problem(ProblemKind.VAULT_LOCKED, detail) from None
    return EvidenceShape(finding_id=finding_id, excerpts=list(map(_shape, excerpts)))


def _shape(stored: StoredExcerpt) -> ExcerptShape:
    return ExcerptShape(
        channel=stored.place.channel.value,
        start=stored.place.start,
        characters=stored.place.characters,
        kept_at=stored.kept_at,
        sha256=stored.sha256,
        text=None if stored.text is None else stored.text.encode("utf-8", "backslashreplace").decode(),
    )
