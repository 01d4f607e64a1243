"""Which answers are fair trials of recall."""

import pytest

from prober.detect.recall import (
    RECALL_CUSUM,
    compared_miss,
    has_reasoned,
    is_decisive_missed,
    is_fair,
    least_output_tokens,
    recall_trial,
)
from prober.domain.answer import Answer
from prober.domain.observation import Usage
from prober.domain.options import Malformation, RequestOptions
from prober.domain.probe import PromptSpec
from prober.domain.prompt import NeedlePosition
from prober.domain.reading import Recall
from prober.domain.target import Ask
from tests.support.evidence import (
    ALL_MISSED,
    END,
    END_MISSED,
    HEAD,
    a_probe,
    a_reading,
    a_target,
    an_evidence,
    an_observation,
)


def test_four_failures_in_a_row_raise_the_alarm():
    """The published figure for honest failures of 5 % at 1e-4."""
    assert RECALL_CUSUM.failures_to_alarm == 4


@pytest.mark.parametrize("answer", [answer for answer in Answer if answer is not Answer.SERVED_FULL])
def test_only_whole_answers_are_fair(answer: Answer):
    """Truncated prompts lost their question, rerouted ones met another LLM, the rest said nothing."""
    assert not is_fair(an_evidence(answer=answer))


@pytest.mark.parametrize(("room", "expected"), [(47, False), (48, True)])
def test_three_needles_need_room_for_three_sentences(room: int, *, expected: bool):
    """16 tokens per needle asked for."""
    assert is_fair(an_evidence(probe=a_probe(max_output_tokens=room))) is expected


@pytest.mark.parametrize("ask", Ask)
def test_the_least_output_is_where_trials_begin(ask: Ask):
    """A configuration with less would have no answer ever judged for recall, and a constant one read as clean."""
    asked = {Ask.PHRASES_AND_COPY: tuple(NeedlePosition), Ask.END_PHRASE: (END,), Ask.ONE_FACT: (END,)}[ask]
    reading = a_reading(recall=Recall(asked=asked, found=asked))
    least = least_output_tokens(ask)
    probes = [a_probe(prompt=PromptSpec(tokens=1, ask=ask), max_output_tokens=room) for room in (least - 1, least)]
    assert [is_fair(an_evidence(probe=probe, reading=reading)) for probe in probes] == [False, True]


def test_no_question_is_no_trial():
    """A prompt without needles says nothing about recall."""
    assert recall_trial(an_evidence(reading=a_reading(recall=Recall()))) is None


@pytest.mark.parametrize(
    ("recall", "expected"),
    [
        (ALL_MISSED, True),
        (END_MISSED, True),
        (Recall(asked=(HEAD, END), found=(END,)), False),
        (Recall(asked=(HEAD,), found=()), True),
        (Recall(asked=(HEAD,), found=(HEAD,)), False),
        (Recall(), False),
    ],
)
def test_the_end_needle_decides_where_there_is_one(recall: Recall, *, expected: bool):
    """Elsewhere all needles must be missing."""
    assert is_decisive_missed(an_evidence(reading=a_reading(recall=recall))) is expected


@pytest.mark.parametrize(
    ("recall", "refuses", "failed"),
    [(ALL_MISSED, False, True), (END_MISSED, False, True), (ALL_MISSED, True, None)],
)
def test_a_trial_fails_when_the_end_is_missed_and_is_none_when_refused(
    recall: Recall, *, refuses: bool, failed: bool | None
):
    """A refusal says nothing about what was read."""
    reading = a_reading(recall=recall, is_refusal_like=refuses)
    assert recall_trial(an_evidence(reading=reading)) is failed


def test_a_reasoning_answer_cut_by_its_length_is_no_trial():
    """The needles might have come next."""
    cut = an_observation(finish_reason="length", reasoning_characters=80)
    assert recall_trial(an_evidence(reading=a_reading(recall=ALL_MISSED), observation=cut)) is None
    assert recall_trial(an_evidence(observation=cut)) is False


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, False),
        ({"target": a_target(thinking=True)}, True),
        ({"observation": an_observation(reasoning_characters=1)}, True),
        ({"observation": an_observation(usage=Usage(reasoning_tokens=3))}, True),
        ({"observation": an_observation(usage=Usage(reasoning_tokens=0))}, False),
    ],
)
def test_reasoning_is_known_from_the_target_the_channel_or_the_usage(parts: dict[str, object], *, expected: bool):
    """Any of the three tells."""
    assert has_reasoned(an_evidence(**parts)) is expected


@pytest.mark.parametrize(
    "options",
    [
        RequestOptions(choices=("amber lamp",)),
        RequestOptions(favoured_token=7),
        RequestOptions(reasoning_budget=13),
        RequestOptions(malformation=Malformation.UNKNOWN_ROLE),
    ],
)
def test_an_answer_that_was_not_free_is_no_trial(options: RequestOptions):
    """What the LLM was held to is not its own doing; ids, sessions and salts leave it free."""
    assert not is_fair(an_evidence(probe=a_probe(options=options)))
    assert is_fair(an_evidence(probe=a_probe(options=RequestOptions(request_id="i", session="s", cache_salt="c"))))


def test_refusals_are_misses_only_where_both_sides_refuse_alike():
    """A comparison counts them on either side; a trial of the LLM itself does not count them."""
    refused = an_evidence(reading=a_reading(recall=ALL_MISSED, is_refusal_like=True))

    assert recall_trial(refused) is None
    assert compared_miss(refused) is True
    assert compared_miss(an_evidence()) is False
    assert compared_miss(an_evidence(answer=Answer.EMPTY)) is None
