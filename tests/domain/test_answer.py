"""What a named answer is counted as."""

from prober.domain.answer import Answer


def test_nothing_is_both_served_and_refused():
    """Every answer is served, rejected as may be due, or something that could not be judged as either."""
    served = {answer for answer in Answer if answer.is_served}
    rejected = {answer for answer in Answer if answer.is_rejected}

    assert served == {Answer.SERVED_FULL, Answer.TRUNCATED, Answer.REROUTED, Answer.EMPTY, Answer.STARVED}
    assert rejected == {Answer.REJECTED_OK, Answer.REJECTED_IN_STREAM}
    assert not served & rejected
    assert {Answer.HANG, Answer.BUSY, Answer.SERVER_ERROR, Answer.ABANDONED} <= set(Answer) - served - rejected
