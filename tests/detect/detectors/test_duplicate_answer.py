"""One answer given twice."""

import pytest

from prober.detect.detectors.duplicate_answer import detect_duplicate_answer
from prober.domain.answer import Answer
from prober.domain.finding import Finding, Reason
from prober.domain.mark import AnswerMark
from prober.domain.options import RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.reading import Recall
from tests.support.evidence import (
    ALL_FOUND,
    ALL_MISSED,
    a_history,
    a_mark,
    a_probe,
    a_prompt,
    a_reading,
    an_evidence,
    an_observation,
)

THEIRS, OTHER = a_mark().signature, tuple(range(100, 164))
DUPLICATE_ID, NEAR = Reason.DUPLICATE_RESPONSE_ID, Reason.NEAR_DUPLICATE_ANSWER


def judged(
    *marks: AnswerMark, response_id: str | None = "id-9", text: str = "t2", **parts: object
) -> tuple[Finding, ...]:
    """Judge an answer of tenant 1 after those."""
    reading = a_reading(**{"signature": OTHER, **parts.pop("reading", {})})
    return detect_duplicate_answer(
        an_evidence(
            **{
                "observation": an_observation(response_id=response_id),
                "prompt": a_prompt(text_sha256=text),
                "reading": reading,
                "history": a_history(*marks),
                **parts,
            }
        )
    )


def reasons(found: tuple[Finding, ...]) -> list[Reason]:
    assert all(finding.outcome is Outcome.SUSPECT for finding in found)
    return [finding.reason for finding in found]


OTHERS = (a_mark(response_id="id-1"), a_mark(response_id="id-2"))


@pytest.mark.parametrize(
    ("mark", "text", "expected"),
    [
        (a_mark(response_id="id-9"), "t2", [DUPLICATE_ID]),
        (a_mark(response_id="id-9"), "t1", [DUPLICATE_ID]),
        (a_mark(response_id="id-9", tenant_number=1), "t2", [DUPLICATE_ID]),
        (a_mark(response_id="id-9", tenant_number=1), "t1", []),
        (a_mark(response_id="id-9", tenant_number=1, text_sha256=""), "", [DUPLICATE_ID]),
        (a_mark(response_id="id-8"), "t2", []),
    ],
)
def test_a_response_id_belongs_to_one_answer(mark: AnswerMark, text: str, expected: list[Reason]):
    """Only a tenant's own answer to the same text may come again, from a cache of its own."""
    assert reasons(judged(*OTHERS, mark, text=text)) == expected


@pytest.mark.parametrize("response_id", [None, ""])
def test_answers_without_an_id_are_not_compared_by_it(response_id: str | None):
    """A server need not give any."""
    assert judged(a_mark(response_id=response_id), response_id=response_id) == ()


@pytest.mark.parametrize(("response_id", "expected"), [("chatcmpl-twin", []), ("id-9", [DUPLICATE_ID])])
def test_an_id_made_of_the_one_we_chose_is_an_honest_echo(response_id: str, expected: list[Reason]):
    """Twins bear the same X-Request-Id on purpose, and vLLM makes its id of it."""
    probe = a_probe(options=RequestOptions(request_id="twin"))

    assert reasons(judged(*OTHERS, a_mark(response_id=response_id), response_id=response_id, probe=probe)) == expected


@pytest.mark.parametrize(
    ("others", "expected"), [((), []), ((a_mark(response_id=None),), []), (OTHERS, [DUPLICATE_ID])]
)
def test_a_server_that_gives_all_answers_one_id_gives_none(others: tuple[AnswerMark, ...], expected: list[Reason]):
    """Only where another id was seen does one that comes again mean anything."""
    assert reasons(judged(*others, a_mark(response_id="id-9"))) == expected


def test_the_message_says_whose_answer_it_was():
    """A reader finds the earlier probe."""
    foreign, own = (judged(*OTHERS, a_mark(response_id="id-9", tenant_number=number)) for number in (2, 1))

    assert "baseline/0000 of another tenant (number 2)" in foreign[0].message
    assert "of the same tenant (number 1)" in own[0].message


@pytest.mark.parametrize(
    ("mark", "recall", "expected"),
    [
        (a_mark(), ALL_MISSED, [NEAR]),
        (a_mark(is_recall_missed=True), ALL_FOUND, [NEAR]),
        (a_mark(is_recall_missed=True), ALL_MISSED, []),
        (a_mark(), ALL_FOUND, []),
        (a_mark(is_recall_missed=None), ALL_MISSED, []),
        (a_mark(signature=OTHER), ALL_MISSED, []),
        (a_mark(signature=()), ALL_MISSED, []),
        (a_mark(tenant_number=1), ALL_MISSED, []),
        (a_mark(text_sha256="t2"), ALL_MISSED, []),
        (a_mark(), Recall(), []),
    ],
)
def test_answers_of_two_tenants_agree_where_only_one_knows_its_prompt(
    mark: AnswerMark, recall: Recall, expected: list[Reason]
):
    """Templates of inability agree too, and neither of those knows its phrase; replays of one text may agree."""
    assert reasons(judged(mark, reading={"recall": recall, "signature": THEIRS})) == expected


@pytest.mark.parametrize(("agreeing", "expected"), [(52, [NEAR]), (51, [])])
def test_near_duplicates_agree_in_four_fifths(agreeing: int, expected: list[Reason]):
    """52 of 64 values are 0.81, 51 are 0.797."""
    signature = (*THEIRS[:agreeing], *OTHER[agreeing:])

    assert reasons(judged(a_mark(), reading={"recall": ALL_MISSED, "signature": signature})) == expected


def test_unlike_answers_before_it_do_not_hide_a_twin():
    """All of the latest answers are looked at."""
    marks = [a_mark(), *[a_mark(signature=tuple(range(number, number + 64))) for number in range(200, 900, 70)]]

    assert reasons(judged(*marks, reading={"recall": ALL_MISSED, "signature": THEIRS})) == [NEAR]


@pytest.mark.parametrize(
    "reading",
    [{"words": 7}, {"is_refusal_like": True}, {"signature": ()}],
)
def test_short_answers_and_refusals_agree_by_chance(reading: dict[str, object]):
    """They are never duplicates."""
    assert judged(a_mark(), reading={"recall": ALL_MISSED, "signature": THEIRS, **reading}) == ()


@pytest.mark.parametrize("answer", [Answer.REROUTED, Answer.ABANDONED, Answer.BUSY])
def test_what_the_target_did_not_serve_is_not_compared(answer: Answer):
    """A gateway that names its cache is asked to switch it off."""
    assert judged(*OTHERS, a_mark(response_id="id-9"), answer=answer) == ()
