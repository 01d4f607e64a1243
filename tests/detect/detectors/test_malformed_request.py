"""Requests broken on purpose."""

import pytest

from prober.detect.detectors.malformed_request import detect_malformed_request
from prober.detect.malformations import LEAVES_PROMPT_WHOLE, LENIENT, STRICT
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.finding import Reason
from prober.domain.options import Malformation, RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.probe import Disconnect, DisconnectMoment, Expectation, Role
from prober.domain.reading import Recall
from tests.support.evidence import ALL_MISSED, NOTHING_READ, a_history, a_probe, a_reading, a_target, an_evidence

CLEAN, INCONCLUSIVE, SUSPECT = Outcome.CLEAN, Outcome.INCONCLUSIVE, Outcome.SUSPECT
WHOLE, BROKEN = Malformation.TEMPERATURE_OUT_OF_RANGE, Malformation.BROKEN_JSON


def broken(malformation: Malformation, answer: Answer = Answer.SERVED_FULL, **parts: object) -> Evidence:
    probe = a_probe(
        role=Role.NEIGHBOUR,
        expectation=Expectation.REJECT,
        options=RequestOptions(malformation=malformation),
    )
    return an_evidence(**{"probe": probe, "answer": answer, "history": a_history(), **parts})


def test_every_malformation_has_its_place_and_its_source():
    """What some honest server serves is not held against others."""
    assert set(LENIENT) | set(STRICT) == set(Malformation)
    assert not set(LENIENT) & set(STRICT)
    assert set(Malformation) >= LEAVES_PROMPT_WHOLE
    assert all({**LENIENT, **STRICT}.values())


@pytest.mark.parametrize("malformation", Malformation)
@pytest.mark.parametrize("answer", [Answer.REJECTED_OK, Answer.REJECTED_IN_STREAM])
def test_a_refusal_is_due(malformation: Malformation, answer: Answer):
    """By status, envelope or error frame."""
    (finding,) = detect_malformed_request(broken(malformation, answer))

    assert (finding.outcome, finding.reason) == (CLEAN, Reason.REFUSED_AS_DUE)


@pytest.mark.parametrize("malformation", Malformation)
def test_an_answer_is_suspect_unless_some_servers_ignore_the_fault(malformation: Malformation):
    """An answer that knows its own prompt merely ignored it."""
    (finding,) = detect_malformed_request(broken(malformation))

    assert finding.reason is Reason.SERVED_INVALID
    assert finding.outcome is (INCONCLUSIVE if malformation in LENIENT else SUSPECT)
    assert malformation.value.replace("_", " ") in finding.message


@pytest.mark.parametrize("malformation", sorted(LEAVES_PROMPT_WHOLE, key=lambda member: member.value))
def test_an_answer_that_does_not_know_its_whole_prompt_was_made_of_something_else(malformation: Malformation):
    """The messages were in order: whoever ignores the fault has read them."""
    (finding,) = detect_malformed_request(broken(malformation, reading=a_reading(recall=ALL_MISSED)))

    assert (finding.outcome, finding.reason) == (SUSPECT, Reason.SERVED_INVALID)
    assert "does not know its own prompt" in finding.message


@pytest.mark.parametrize(
    "parts",
    [
        {"reading": a_reading(recall=ALL_MISSED), "history": a_history(is_recall_proven=False)},
        {"reading": a_reading(recall=ALL_MISSED, is_refusal_like=True)},
        {"reading": a_reading(recall=ALL_MISSED, words=9)},
        {"reading": a_reading(recall=Recall())},
        {"reading": NOTHING_READ, "answer": Answer.EMPTY},
    ],
)
def test_where_recall_tells_nothing_leniency_is_assumed(parts: dict[str, object]):
    """No proof of recall, a refusal in words, a plain miss, no needle asked for, no text."""
    (finding,) = detect_malformed_request(broken(WHOLE, **parts))

    assert finding.outcome is INCONCLUSIVE


def test_a_message_that_was_left_out_cannot_be_known():
    """An unknown role may drop the message itself."""
    evidence = broken(Malformation.UNKNOWN_ROLE, reading=a_reading(recall=ALL_MISSED))

    (finding,) = detect_malformed_request(evidence)

    assert finding.outcome is INCONCLUSIVE


@pytest.mark.parametrize(("history", "outcomes"), [(a_history(), [SUSPECT]), (a_history(clean=0), [])])
def test_a_refusal_that_never_comes_is_suspect_where_others_were_answered(history: object, outcomes: list[Outcome]):
    """Saying no takes no time."""
    found = detect_malformed_request(broken(BROKEN, Answer.HANG, history=history))

    assert [(f.outcome, f.reason) for f in found] == [(outcome, Reason.HANG) for outcome in outcomes]


@pytest.mark.parametrize("answer", [Answer.BUSY, Answer.SERVER_ERROR, Answer.UNAUTHORISED, Answer.ABANDONED])
def test_what_is_neither_is_left_to_the_status_contract(answer: Answer):
    """A server that fails has not refused."""
    assert detect_malformed_request(broken(BROKEN, answer)) == ()


def test_requests_in_order_are_not_judged():
    """There is nothing to refuse."""
    assert detect_malformed_request(an_evidence()) == ()


def hung_up(moment: DisconnectMoment = DisconnectMoment.AFTER_TOKENS, **parts: object) -> Evidence:
    """An answer to an output limit beyond the context that we ended."""
    probe = a_probe(
        role=Role.NEIGHBOUR,
        expectation=Expectation.EITHER,
        options=RequestOptions(malformation=Malformation.OUTPUT_BEYOND_CONTEXT),
        disconnect=Disconnect(moment=moment, after_tokens=64),
    )
    return an_evidence(**{"probe": probe, "answer": Answer.ABANDONED, "history": a_history(), **parts})


def test_an_answer_that_we_ended_at_its_planned_length_is_judged_like_one_that_ended_there():
    """It ignores the limit, or was made of something else; what it did not get to say is not held against it."""
    (known,) = detect_malformed_request(hung_up())
    (other,) = detect_malformed_request(hung_up(reading=a_reading(recall=ALL_MISSED)))

    assert (known.outcome, known.reason) == (INCONCLUSIVE, Reason.SERVED_INVALID)
    assert (other.outcome, other.reason) == (SUSPECT, Reason.SERVED_INVALID)
    thinking = hung_up(reading=a_reading(recall=ALL_MISSED), target=a_target(thinking=True))
    assert detect_malformed_request(thinking) == ()
    assert detect_malformed_request(hung_up(DisconnectMoment.MID_STREAM)) == ()
