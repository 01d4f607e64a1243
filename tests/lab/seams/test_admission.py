"""Right decisions of admission, handoff and release."""

from hypothesis import given, settings
from hypothesis import strategies as st

from prober.lab.seams.admission import AdmissionSeams

ROOMS = st.integers(0, 2**63 - 1)


@given(room=ROOMS, other=ROOMS)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_rooms_are_told_apart_by_all_that_they_are(room: int, other: int):
    """Two rooms are one only if they are the same."""
    right = AdmissionSeams()

    assert (right.room_key(room) == right.room_key(other)) is (room == other)


@given(room=ROOMS)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_what_was_refused_ends_and_what_is_in_use_is_held(room: int):
    """Nobody refused passes, pages stay until pulled and drained, workers come back, failures are told."""
    right = AdmissionSeams()

    assert not right.admits_refused(room)
    assert not right.admits_invalid(room)
    assert right.holds_until_pulled(room)
    assert right.gives_worker_back(room)
    assert right.tells_failure(room)
    assert not right.releases_before_drained(room)
