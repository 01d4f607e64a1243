"""Trying a receiver out."""

import json

from prober.domain.notice import Route
from prober.endpoint.plain_client import PlainClient
from prober.notify.formats import FORMATS
from prober.notify.message import Fate
from prober.notify.receiver import Receiver
from prober.service.receiver_trial import try_receiver
from tests.support.hostile import answering, hostile, response
from tests.support.ledger import SettableClock


async def test_a_trial_is_sent_marked_and_its_answer_told():
    """Past the outbox, at once, under an id of its own each time."""
    async with hostile(answering(response("403 Forbidden", b"action_prohibited"))) as server:
        receiver = Receiver(
            route=Route(receiver="ops"),
            form=FORMATS["webhook"],
            client=PlainClient(f"http://127.0.0.1:{server.port}/"),
            secret="s",
            throttle_per_minute=1,
        )
        first = await try_receiver(receiver, SettableClock())
        await try_receiver(receiver, SettableClock())

    assert (first.fate, first.answer, first.body) == (Fate.LATER, "HTTP 403", b"action_prohibited")
    bodies = [json.loads(call.body) for call in server.calls]
    assert [body["type"] for body in bodies] == ["test", "test"]
    assert bodies[0]["id"] != bodies[1]["id"]
