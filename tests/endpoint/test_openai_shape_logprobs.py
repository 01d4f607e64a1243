"""Log probabilities and build labels in chat completions."""

import json

import pytest

from prober.endpoint.openai_shape import stream_frame


@pytest.mark.parametrize(
    ("tokens", "sampled"),
    [
        ([{"token": "hel", "logprob": -0.1}, {"token": "lo"}], b"hello"),
        ([{"token": "\ufffd", "bytes": [240, 159]}, {"token": "\ufffd", "bytes": [152, 128]}], "😀".encode()),
        ([{"token": "a", "bytes": None}, {"token": "b", "bytes": []}], b"ab"),
        ([{"token": "a", "bytes": [256]}, {"token": "b", "bytes": ["x"]}, {"token": "c", "bytes": 7}], b"abc"),
        ([{"token": "\ud83d"}, {"token": 5}, None, "x", {}], "\ufffd5".encode()),
        ([], None),
        (None, None),
    ],
)
def test_tokens_with_log_probabilities_are_joined(tokens: object, sampled: bytes | None):
    """Their texts, or their bytes where a token holds part of a character; what is no token is nothing."""
    data = json.dumps({"choices": [{"delta": {"content": "x"}, "logprobs": {"content": tokens}}]}).encode()
    assert stream_frame(data, "").sampled == sampled


@pytest.mark.parametrize(("logprobs", "sampled"), [(None, None), ([], None), ("x", None), ({"tokens": ["a"]}, None)])
def test_other_log_probabilities_say_nothing(logprobs: object, sampled: bytes | None):
    """Shapes that are not chat completions' are not guessed at."""
    data = json.dumps({"choices": [{"delta": {"content": "x"}, "logprobs": logprobs}]}).encode()
    assert stream_frame(data, "").sampled is sampled


def test_the_build_is_a_label():
    """A fingerprint of the server's build is kept as it is; a sentence in its place as a hash."""
    for name, kept in (("fp_44", "fp_44"), ("Dear Mrs Hoffmann", None), (None, None)):
        frame = stream_frame(json.dumps({"choices": [], "system_fingerprint": name}).encode(), "")
        assert frame.system_fingerprint == kept or (frame.system_fingerprint or "").startswith("sha256:")
