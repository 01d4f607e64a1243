import dataclasses
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.observation import Usage
from prober.endpoint.collector import AnswerCollector, Shape
from prober.endpoint.dialects import DIALECTS
from prober.endpoint.dialects.dialect import Dialect
from prober.endpoint.frame import Frame
from prober.endpoint.timing import Stopwatch
from tests.support.hostile import DONE, delta, finish, sse, usage, whole
from tests.support.http_endpoint import SystemClock

STREAM = "text/event-stream; charset=utf-8"


def collect(*chunks: bytes, content_type: str = STREAM, dialect: Dialect = DIALECTS["openai-chat"]) -> AnswerCollector:
    collector = AnswerCollector(dialect, Stopwatch(SystemClock()), content_type)
    for chunk in chunks:
        collector.feed(chunk)
    collector.finish()
    return collector


@pytest.mark.parametrize(
    ("body", "announced", "shape"),
    [
        (delta("a"), STREAM, Shape.STREAM),
        (delta("a"), "application/json", Shape.STREAM),
        (delta("a"), "", Shape.STREAM),
        (b"\xef\xbb\xbf\r\n" + delta("a"), "", Shape.STREAM),
        (b": ping\n\n", "application/json", Shape.STREAM),
        (b"event: error\ndata: {}\n\n", "", Shape.STREAM),
        (whole("a"), "application/json", Shape.WHOLE),
        (whole("a"), STREAM, Shape.WHOLE),
        (b"  \n" + whole("a"), STREAM, Shape.WHOLE),
        (b"[1]", STREAM, Shape.WHOLE),
        (b"<html>", "text/html", Shape.WHOLE),
        (b"dat", "application/json", Shape.WHOLE),
        (b"dat", STREAM, Shape.STREAM),
        (b"datum: 1\n\n", STREAM, Shape.STREAM),
        (b"", STREAM, Shape.STREAM),
        (b"", "application/json", Shape.WHOLE),
    ],
)
@pytest.mark.parametrize("step", [1, 3, 1000])
def test_shape_is_told_by_the_first_characters_then_by_the_header(body: bytes, announced: str, shape: Shape, step: int):
    """A wrong or missing content type does not decide how an answer is read."""
    chunks = [body[start : start + step] for start in range(0, len(body), step)]
    assert collect(*chunks, content_type=announced).shape is shape


def test_usage_of_several_frames_adds_up_to_the_latest_of_each():
    """Frames that tell one figure do not wipe out the others; later figures win."""

    class Counting:
        name = "counting"

        def frame(self, data: bytes, event: str) -> Frame:
            field, value = data.decode().split("=")
            return Frame(usage=Usage(**{field: int(value)}))

    told = [sse(text) for text in ("prompt_tokens=5", "cached_tokens=2", "completion_tokens=1", "completion_tokens=3")]
    told += [sse("reasoning_tokens=4")]
    assert collect(*told, dialect=Counting()).usage == Usage(
        prompt_tokens=5, completion_tokens=3, cached_tokens=2, reasoning_tokens=4
    )


def test_first_refusal_stands():
    """The first error of a stream is what refused the request."""
    errors = [sse({"error": {"message": "m", "code": code}}) for code in ("context_length_exceeded", "other")]
    refusal = collect(*errors).refusal
    assert refusal is not None
    assert (refusal.code, refusal.in_stream) == ("context_length_exceeded", True)


@pytest.mark.parametrize("line", [b"'error': 1\n", b"nonsense\n"])
def test_stray_line_is_a_bad_frame(line: bytes):
    """Text between frames is counted, not parsed."""
    assert collect(delta("a"), line, DONE).bad_frames == 1


def test_bare_error_line_in_a_stream_is_understood():
    """A JSON error printed without `data:` is an error all the same."""
    refusal = collect(delta("a"), b'{"error": {"message": "m", "code": "context_length_exceeded"}}\n\n').refusal
    assert refusal is not None


def test_oversized_frame_is_a_bad_frame():
    """A frame above the decoder's bound is dropped and counted."""
    collector = collect(b"data: " + b"x" * (2 << 20) + b"\n\n", delta("a"), DONE)
    assert (collector.bad_frames, collector.text) == (1, "a")


def facts(collector: AnswerCollector) -> dict[str, object]:
    names = ("text", "reasoning", "usage", "refusal", "finish_reason", "token_frames", "bad_frames", "is_terminated")
    names += ("response_ids", "finish_marks", "system_fingerprint", "logprobs_agree")
    return {name: getattr(collector, name) for name in names}


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.data())
def test_any_chunking_collects_the_same(data: st.DataObject):
    """Where the network cuts the bytes does not change what was said."""
    frames = st.sampled_from(
        [
            delta("é\u2028x"),
            delta(""),
            sse({"id": "x", "choices": [{"delta": {"content": "é"}, "logprobs": {"content": [{"token": "é"}]}}]}),
            delta(None, reasoning="r"),
            finish(),
            usage(5, 2),
            sse("<html>"),
            b": c\n\n",
            DONE,
        ]
    )
    stream = b"".join(data.draw(st.lists(frames, min_size=1, max_size=8)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    edges = [0, *cuts, len(stream)]
    parts = [stream[a:b] for a, b in itertools.pairwise(edges)]
    assert facts(collect(*parts)) == facts(collect(stream))


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.binary(max_size=200), st.sampled_from([STREAM, "application/json", ""]), st.sampled_from(sorted(DIALECTS)))
def test_no_bytes_make_it_raise(body: bytes, content_type: str, dialect: str):
    """Whatever a server sends is data, in every dialect."""
    collector = collect(body, content_type=content_type, dialect=DIALECTS[dialect])
    assert collector.shape is not Shape.UNKNOWN
    collector.text.encode()


def test_bad_frame_brings_nothing_else():
    """A frame nobody understood changes nothing but the count."""
    before = facts(collect(delta("a")))
    after = facts(collect(delta("a"), sse("<html>")))
    assert after == {**before, "bad_frames": 1}
    assert dataclasses.is_dataclass(Frame)


LEAK = "other people's words"


@pytest.mark.parametrize(
    ("body", "content"),
    [
        (delta("a") + sse({"error": {"message": LEAK}}), "a"),
        (delta("a") + b"event: error\ndata: " + LEAK.encode() + b"\n\n", "a"),
        (delta("a") + b"data: {'error': '" + LEAK.encode() + b"'}\n\n", "a"),
        (delta("a") + b"data: no JSON, " + LEAK.encode() + b"\n\n", "a"),
        (delta("a") + b'data: {"choices": [{"delta": {"content": "\xff' + LEAK.encode() + b'"}}]}\n\n', "a"),
        (delta("a") + b"stray " + LEAK.encode() + b"\n\n", "a"),
        (delta("a") + sse({"choices": [{"finish_reason": {"type": "abort", "message": LEAK}}]}), "a"),
        (delta(LEAK)[:-5], ""),
        (b'{"output": [{"text": "' + LEAK.encode() + b'"}]}', ""),
        (b'{"error": {"message": "' + LEAK.encode() + b'"}}', ""),
        (b"<html>" + LEAK.encode(), ""),
    ],
)
def test_what_is_no_answer_is_kept_to_be_searched(body: bytes, content: str):
    """Errors and unreadable frames may hold another prompt's text: they are kept apart from the answer's."""
    answer = collect(body, content_type="text/html" if body.startswith(b"<") else STREAM)
    assert LEAK in answer.other_text
    assert answer.text == content


def test_a_sound_answer_leaves_nothing_else_to_search():
    """Text is not searched twice, or its windows would count twice."""
    assert collect(delta("a") + usage(3, 1) + finish() + DONE).other_text == ""
    assert collect(whole("a"), content_type="application/json").other_text == ""


def test_tokens_of_other_channels_are_not_compared():
    """How a server marks reasoning and tool calls off from the content is its own affair: nothing is claimed."""
    sampled = sse({"choices": [{"delta": {"content": "a"}, "logprobs": {"content": [{"token": "a"}]}}]})
    assert collect(sampled, DONE).logprobs_agree is True
    assert collect(sampled, delta(None, reasoning="r"), DONE).logprobs_agree is None
    assert collect(sampled, delta(None, tool_calls=[{"function": {"name": "f"}}]), DONE).logprobs_agree is None


def test_ids_that_are_none_do_not_count():
    """Frames without an id, or with an empty one, belong to the answer at hand."""
    frames = [delta("a"), sse({"id": "", "choices": []}), usage(5, 2), finish(), DONE]
    assert (collect(*frames).response_ids, collect(usage(5, 2), DONE).response_ids) == (1, 0)
