"""Answer marks as JSON documents."""

import dataclasses
import json

import pytest

from prober.detect.marking import mark_of
from prober.domain.errors import LedgerError
from prober.domain.mark import AnswerMark
from prober.domain.options import Arm, Malformation, RequestOptions, Trial
from prober.store.marks import document, is_kept, stored_mark
from tests.support.evidence import a_probe
from tests.support.stored import judged

TRIAL = Trial(series="rollout", number=3, arm=Arm.REFERENCE, cohort="a")
OPTIONS = RequestOptions(session="s", choices=("one", "two"), malformation=Malformation.BROKEN_JSON)


def a_mark() -> AnswerMark:
    mark = mark_of(judged(probe=a_probe(options=OPTIONS, trial=TRIAL)))
    return dataclasses.replace(mark, signature=tuple(range(64)), first_token_seconds=0.1 + 0.2)


def test_a_mark_comes_back_as_it_was():
    """All fields survive JSON, enums, nested values and every digit of a float included."""
    mark = a_mark()
    assert stored_mark(json.loads(json.dumps(document(mark)))) == mark


def test_a_mark_of_a_newer_version_is_said_plainly():
    """A code that this version does not know is no mark."""
    with pytest.raises(LedgerError, match="newer version"):
        stored_mark(document(a_mark()) | {"answer": "answered_by_telegram"})


@pytest.mark.parametrize(
    ("trial", "is_one"),
    [
        (None, False),
        (TRIAL, True),
        (dataclasses.replace(TRIAL, series="rollout/short"), True),
        (dataclasses.replace(TRIAL, series="rollouts"), False),
        (dataclasses.replace(TRIAL, series="drift"), False),
        (dataclasses.replace(TRIAL, arm=Arm.CHECK), False),
    ],
)
def test_only_references_of_the_rollout_outlive_their_run(trial: Trial | None, *, is_one: bool):
    """What is compared within its run need not be kept."""
    assert is_kept(a_probe(trial=trial)) is is_one
