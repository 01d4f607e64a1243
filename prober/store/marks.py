"""Answer marks as JSON documents, for references that outlive their run."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from prober.domain.errors import LedgerError
from prober.domain.mark import AnswerMark
from prober.domain.options import Arm
from prober.domain.probe import Probe

KEPT_SERIES: Final = "rollout"
"""Series (and its parts, `rollout/...`) whose REFERENCE answers the next run of the same target is compared with."""

_MARKS: Final = TypeAdapter(AnswerMark)


def is_kept(probe: Probe) -> bool:
    """Tell whether the answer to a probe outlives its run."""
    trial = probe.trial
    return trial is not None and trial.arm is Arm.REFERENCE and trial.series.partition("/")[0] == KEPT_SERIES


def document(mark: AnswerMark) -> dict[str, Any]:
    """A mark as plain JSON values."""
    plain: dict[str, Any] = _MARKS.dump_python(mark, mode="json")
    return plain


def stored_mark(stored: Mapping[str, Any]) -> AnswerMark:
    """Read a stored mark.

    Raises:
        LedgerError: it was written by a newer version.
    """
    try:
        return _MARKS.validate_python(stored)
    except ValidationError:
        raise LedgerError("The ledger holds rows of a newer version of the prober; upgrade this one.") from None
