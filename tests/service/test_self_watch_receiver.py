"""The self-test's own receiver."""

import asyncio
import json

import httpx

from prober.domain.issue import IssueChange
from prober.notify.message import Fate
from prober.service.self_watch_receiver import MAX_BYTES, own_receiver
from prober.wiring.self_test import own_sender
from tests.support.issues import SEEN, a_notice


async def test_it_takes_what_the_senders_sign():
    """Through the real client and format, over a real socket; each in its turn."""
    async with own_receiver("secret-one") as receiver:
        sender = own_sender(receiver.url, "secret-one", "self-test/1")
        for change in (IssueChange.OPENED, IssueChange.RESOLVED):
            assert (await sender.send([a_notice(change)], SEEN)).fate is Fate.TAKEN

    assert receiver.taken == [(f"issue.{word}", "staging", "foreign_canary") for word in ("opened", "resolved")]


async def test_it_takes_nothing_else():
    """Another signature is refused; what is no request of ours gets no answer, and ends nothing."""
    async with own_receiver("secret-one") as receiver:
        delivery = await own_sender(receiver.url, "secret-two", "self-test/1").send([a_notice()], SEEN)
        assert (delivery.fate, delivery.answer) == (Fate.LATER, "HTTP 401")
        port = httpx.URL(receiver.url).port
        for sent in (
            b"",
            b"nonsense\r\n\r\n",
            b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
            b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MAX_BYTES + 1),
            b"x" * (2 * MAX_BYTES),
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            writer.write_eof()
            answer = b""
            try:
                answer = await asyncio.wait_for(reader.read(), 5)
            except ConnectionError:
                assert len(sent) > MAX_BYTES
            writer.close()
            assert b" 200 " not in answer
        sender = own_sender(receiver.url, "secret-one", "self-test/1")
        assert (await sender.send([a_notice()], SEEN)).fate is Fate.TAKEN

    assert len(receiver.taken) == 1
    assert json.dumps(receiver.taken).count("issue.opened") == 1
