"""What became of a message."""

import dataclasses

import pytest

from prober.notify.message import Fate, Message, delivery_of, json_message


@dataclasses.dataclass
class Answered:
    status: int | None
    fault: str = ""
    retry_after: float | None = None
    body: bytes = b""


@pytest.mark.parametrize(
    ("status", "fate"),
    [
        (200, Fate.TAKEN),
        (202, Fate.TAKEN),
        (204, Fate.TAKEN),
        (400, Fate.REFUSED),
        (413, Fate.REFUSED),
        (422, Fate.REFUSED),
        *((status, Fate.LATER) for status in (301, 307, 401, 403, 404, 408, 410, 425, 429, 500, 502, 503, 599)),
    ],
)
def test_only_what_can_never_succeed_is_given_up(status: int, fate: Fate):
    """A wrong key, a moved address, an archived channel can be put right: the event waits."""
    assert delivery_of(Answered(status)).fate is fate


def test_an_answer_is_told_in_our_words():
    """Status or fault; what the receiver said is kept out of what is stored and logged."""
    answered = delivery_of(Answered(429, retry_after=7.0, body=b"secret words"))
    silent = delivery_of(Answered(None, fault="no answer within 10 s"))

    assert (answered.answer, answered.retry_after, answered.body) == ("HTTP 429", 7.0, b"secret words")
    assert "secret" not in repr(answered)
    assert (silent.fate, silent.answer) == (Fate.LATER, "no answer within 10 s")


def test_a_message_shows_neither_headers_nor_body():
    """Both may hold secrets."""
    message = json_message({"routing_key": "s3cret"}, {"Authorization": "Bearer s3cret"})

    assert isinstance(message, Message)
    assert message.headers == {"Content-Type": "application/json", "Authorization": "Bearer s3cret"}
    assert message.body == b'{"routing_key":"s3cret"}'
    assert "s3cret" not in repr(message)
