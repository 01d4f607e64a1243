"""From an exchange to an observation."""

import json

import pytest

from prober.domain.observation import Observation
from tests.support.hostile import (
    DONE,
    SSE_HEAD,
    Peer,
    answering,
    delta,
    finish,
    response,
    sse,
)
from tests.support.http_endpoint import SECRET, observe

SENTENCE = "Dear Mrs Hoffmann, your operation"


def chunk(content: str, **fields: object) -> bytes:
    return sse({"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"content": content}}], **fields})


def with_logprobs(content: str, *tokens: str) -> bytes:
    logprobs = {"content": [{"token": token, "logprob": -0.1} for token in tokens]}
    return sse({"choices": [{"index": 0, "delta": {"content": content}, "logprobs": logprobs}]})


async def streamed(*frames: bytes) -> Observation:
    return await observe(answering(SSE_HEAD + b"".join(frames)))


async def test_a_sound_stream_has_one_id_one_ending_and_its_build():
    """What one answer must have once, it has once."""
    seen = await streamed(
        chunk("hel", system_fingerprint="fp_1"), chunk("lo", system_fingerprint="fp_1"), finish(), DONE
    )
    assert (seen.text, seen.response_ids, seen.finish_marks) == ("hello", 1, 1)
    assert (seen.system_fingerprint, seen.logprobs_agree, seen.is_connection_reused) == ("fp_1", None, False)


async def test_two_answers_in_one_stream_are_counted():
    """Ids and endings of a second answer show, whichever came first is kept as the answer's."""
    other = sse({"id": "chatcmpl-2", "choices": [{"index": 0, "delta": {"content": "!"}, "finish_reason": "length"}]})
    seen = await streamed(chunk("hello"), finish(), other, DONE)
    assert (seen.response_id, seen.response_ids, seen.finish_marks) == ("chatcmpl-1", 2, 2)


@pytest.mark.parametrize(
    ("frames", "agree"),
    [
        ([with_logprobs("hello", "hel", "lo"), with_logprobs(" you", " you")], True),
        ([with_logprobs("hello", "hel"), with_logprobs(" you", "lo", " you")], True),
        ([with_logprobs("hello", "hel", "lo"), with_logprobs("", " you")], False),
        ([with_logprobs("hello", "hello"), with_logprobs(" you", " thou")], False),
        ([with_logprobs("hello hello", "hello")], False),
        ([delta("hello")], None),
    ],
)
async def test_log_probabilities_are_those_of_the_answer(frames: list[bytes], *, agree: bool | None):
    """Tokens must add up to the content, to the character; without any there is nothing to say."""
    assert (await streamed(*frames, finish(), DONE)).logprobs_agree is agree


async def test_a_whole_answer_has_the_same_facts():
    """A JSON body tells id, ending, build and log probabilities like a stream."""
    document = {
        "id": "chatcmpl-7",
        "system_fingerprint": "fp_2",
        "choices": [
            {
                "message": {"content": "hello"},
                "finish_reason": "stop",
                "logprobs": {"content": [{"token": "hello", "logprob": -0.1}]},
            }
        ],
    }
    seen = await observe(answering(response("200 OK", json.dumps(document).encode())))
    assert (seen.response_ids, seen.finish_marks, seen.system_fingerprint) == (1, 1, "fp_2")
    assert seen.logprobs_agree is True


async def test_nothing_of_a_refusal_is_an_answer():
    """Without a 2xx status there are no ids, endings or tokens to count."""
    seen = await observe(answering(response("400 Bad Request", b'{"id": "x", "system_fingerprint": "y"}')))
    assert (seen.status, seen.response_ids, seen.finish_marks, seen.logprobs_agree) == (400, 0, 0, None)
    assert seen.system_fingerprint is None


@pytest.mark.parametrize("text", [SENTENCE, SECRET, SECRET.upper(), "x" * 500])
async def test_no_text_of_the_peer_hides_in_a_name(text: str):
    """Sentences, credentials and endless names in ids and fingerprints are kept as hashes only."""
    seen = (await streamed(chunk("a", id=text, system_fingerprint=text), finish(), DONE)).without_text()
    assert text.lower() not in repr(seen).lower()
    assert seen.system_fingerprint is not None
    assert seen.system_fingerprint.startswith("sha256:")
    assert len(seen.system_fingerprint) < 30


async def test_tokens_of_the_peer_leave_no_trace():
    """Of the tokens whose log probabilities came, only whether they fit is kept."""
    seen = (await streamed(with_logprobs("a", SENTENCE), finish(), DONE)).without_text()
    assert seen.logprobs_agree is False
    assert "Hoffmann" not in repr(seen)


async def test_an_answer_that_broke_off_is_judged_as_far_as_it_came():
    """Frames that came are counted, whatever ended the exchange."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(SSE_HEAD + with_logprobs("hello", "hello"))
        peer.reset()

    seen = await observe(handler)
    assert seen.failure is not None
    assert (seen.logprobs_agree, seen.finish_marks) == (True, 0)
