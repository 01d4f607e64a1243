"""The value every dialect decodes into."""

import pytest

from prober.endpoint.frame import Frame


@pytest.mark.parametrize(
    ("frame", "has_token"),
    [
        (Frame(), False),
        (Frame(finish_reason="stop", response_id="x"), False),
        (Frame(content="a"), True),
        (Frame(reasoning="a"), True),
        (Frame(tool=True), True),
    ],
)
def test_a_token_is_something_of_any_channel(frame: Frame, has_token: bool):  # noqa: FBT001  (a test parameter)
    """Any non-empty channel counts as a token, and nothing else does."""
    assert frame.has_token is has_token


def test_the_text_is_not_printed():
    """Answer text may be other people's data: it stays out of the repr."""
    assert "secret" not in repr(Frame(content="secret", reasoning="secret"))
