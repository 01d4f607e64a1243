"""One stream, one answer, one end."""

import dataclasses

import pytest

from prober.detect.detectors.stream import detect_stream
from prober.domain.answer import Answer
from prober.domain.finding import Reason
from prober.domain.observation import FailureKind, Refusal, RefusalReason
from prober.domain.options import Malformation, RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation
from tests.support.evidence import a_history, a_probe, a_reading, an_evidence, an_observation

INCONCLUSIVE, SUSPECT = Outcome.INCONCLUSIVE, Outcome.SUSPECT
AGREED = a_history(have_logprobs_agreed=True)
RESTARTED = {"reading": a_reading(repeats_opening=True)}
SILENT = {"is_terminated": False, "finish_reason": None}


@pytest.mark.parametrize(
    ("observed", "parts", "outcome"),
    [
        ({"response_ids": 1, "finish_marks": 1, "logprobs_agree": True}, {}, None),
        ({"response_ids": 2}, {}, SUSPECT),
        ({"response_ids": 60}, {}, None),
        ({"response_ids": 61}, {}, None),
        ({"finish_marks": 3}, {}, SUSPECT),
        ({"finish_marks": 2}, {}, None),
        ({"logprobs_agree": False}, RESTARTED, INCONCLUSIVE),
        ({"logprobs_agree": False}, {}, INCONCLUSIVE),
        ({"logprobs_agree": False}, {"history": AGREED}, SUSPECT),
        ({}, RESTARTED, None),
        ({}, {**RESTARTED, "history": a_history(scores={"restarted": 8.0})}, SUSPECT),
        ({}, {**RESTARTED, "answer": Answer.TRUNCATED}, None),
        (SILENT, {}, SUSPECT),
        ({**SILENT, "bad_frames": 1}, {}, None),
        ({**SILENT, "is_stream": False}, {}, None),
        ({**SILENT, "failure": FailureKind.CLOSED_EARLY}, {}, None),
        ({**SILENT, "refusal": Refusal(reason=RefusalReason.SERVER, in_stream=True)}, {}, None),
        ({**SILENT, "status": 500}, {}, None),
        ({**SILENT, "status": None}, {}, None),
        (SILENT, {"history": a_history(clean=0)}, None),
        ({"finish_reason": "abort"}, {"answer": Answer.SERVER_ERROR}, SUSPECT),
        ({"finish_reason": "abort", "refusal": Refusal(reason=RefusalReason.OTHER)}, {}, None),
        ({"finish_reason": "abort"}, {"probe": a_probe(expectation=Expectation.REJECT)}, None),
        (
            {"finish_reason": "abort"},
            {"probe": a_probe(options=RequestOptions(malformation=Malformation.UNKNOWN_ROLE))},
            None,
        ),
        ({"finish_reason": "abort"}, {"history": a_history(clean=0)}, None),
        ({"response_ids": 2, "failure": FailureKind.ABANDONED}, {}, None),
    ],
)
def test_signs_of_two_answers_in_one(observed: dict[str, object], parts: dict[str, object], outcome: Outcome | None):
    """Strong signs warn by themselves, an opening that comes again when it becomes common; habits never do."""
    found = detect_stream(an_evidence(**{"history": a_history(), "observation": an_observation(**observed), **parts}))

    assert [(f.reason, f.outcome) for f in found] == ([(Reason.STREAM_BROKEN, outcome)] if outcome else [])


def test_the_message_lists_every_sign():
    """One sentence says what was seen."""
    observation = an_observation(response_ids=2, finish_marks=3, logprobs_agree=False)
    history = dataclasses.replace(AGREED, scores={"restarted": 8.0})
    (finding,) = detect_stream(an_evidence(history=history, observation=observation, **RESTARTED))

    for words in ("2 response ids", "3 endings", "log probabilities of other text", "opening comes again"):
        assert words in finding.message
