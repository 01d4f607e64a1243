"""What stays of an answer for comparisons: a few hashes and figures, no text."""

import dataclasses

from prober.domain.answer import Answer
from prober.domain.canary import Canary
from prober.domain.options import RequestOptions, Trial
from prober.domain.outcome import Outcome
from prober.domain.probe import Role


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMark:
    """One judged probe, as later ones may look back at it."""

    label: str
    scenario: str
    role: Role
    tenant_number: int
    canary: Canary
    text_sha256: str
    """Of the prompt."""
    options: RequestOptions
    trial: Trial | None
    answer: Answer
    outcome: Outcome
    sha256: str
    """Of the answer's text."""
    signature: tuple[int, ...]
    """MinHash of the answer, as `Reading.signature`."""
    words: int
    response_id: str | None
    is_recall_missed: bool | None
    """The decisive needle is missing; None where the answer was no fair trial."""
    is_garbled: bool
    first_token_seconds: float | None
    """None where timing is not trusted."""
    end_seconds: float | None
    cached_tokens: int | None
    prompt_tokens: int | None
    system_fingerprint: str | None
    model_reported: str | None
    reasoning_tokens: int | None = None
    """As usage reports them; None where it does not."""
    failings: tuple[str, ...] = ()
    """Names of the charts in which this answer failed: asked again, the text will fail there again."""
