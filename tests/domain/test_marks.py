"""The bounded memory of answers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.mark import AnswerMark
from prober.domain.marks import CAPACITY, CHUNK, Marks
from prober.domain.options import Arm, Trial
from tests.support.evidence import a_mark, marks


def numbered(count: int) -> list[AnswerMark]:
    return [a_mark(label=f"a/{number}", response_id=f"id-{number % 7}") for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, CAPACITY, CAPACITY + CHUNK, 3 * CAPACITY + 5])
def test_at_least_the_latest_are_held_in_their_order(count: int):
    """Nothing newer than the capacity goes, and no more than one chunk beyond it stays."""
    came = numbered(count)
    held = Marks.of(came)

    assert min(count, CAPACITY) <= len(held) <= CAPACITY + CHUNK
    assert list(held) == came[count - len(held) :]
    assert list(reversed(held)) == list(held)[::-1]


def test_a_version_stays_as_it_was_when_later_ones_come():
    """Histories are values: evidence keeps the marks that it was judged with."""
    before = Marks.of(numbered(CHUNK + 3))
    listed = list(before)

    after = before.added(a_mark(label="new"))

    assert list(before) == listed
    assert [mark.label for mark in after][-1] == "new"
    assert before == Marks.of(numbered(CHUNK + 3)) != after


def test_versions_share_what_they_hold():
    """A run of 20,000 probes keeps as many versions: each may cost a few hundred bytes, not a copy of all marks."""
    held, versions = Marks(), []
    for mark in numbered(CAPACITY + CHUNK):
        held = held.added(mark)
        versions.append(held)

    references = sum(len(version.sealed) + len(version.latest) for version in versions)

    assert references / len(versions) <= CHUNK
    assert len({id(chunk) for version in versions for chunk in version.sealed}) == len(versions) / CHUNK


@settings(max_examples=60, derandomize=True, deadline=None)
@given(came=st.lists(marks, max_size=12).map(lambda few: few * 12))
def test_look_ups_find_what_a_scan_would_the_newest_first(came: list[AnswerMark]):
    """Sealed chunks and the latest marks answer alike."""
    held = Marks.of(came)
    newest = came[::-1]

    for text in ("t1", "t2"):
        assert list(held.of_text(text)) == [mark for mark in newest if mark.text_sha256 == text]
    assert list(held.of_response("id-0")) == [mark for mark in newest if mark.response_id == "id-0"]
    in_series = [mark for mark in newest if mark.trial is not None and mark.trial.series == "drift"]
    assert list(held.of_series("drift")) == in_series
    assert list(held.of_trial("drift", 1)) == [m for m in in_series if m.trial is not None and m.trial.number == 1]
    for is_missed in (True, False):
        assert list(held.of_recall(is_missed=is_missed)) == [m for m in newest if m.is_recall_missed is is_missed]


def test_what_has_no_key_is_not_found_by_it():
    """An unknown prompt text equals no other; a mark without trial belongs to no series."""
    held = Marks.of([a_mark(text_sha256=""), a_mark(trial=Trial(series="s", number=1, arm=Arm.HIT))] * CHUNK)

    assert list(held.of_text("")) == []
    assert len(list(held.of_series("s"))) == CHUNK
