"""Our own webhook: JSON, signed."""

import datetime as dt
import hashlib
import hmac
from collections.abc import Sequence

from prober.domain.notice import Notice
from prober.notify.facts import VERSION, event, kind_of
from prober.notify.formats.format import Format
from prober.notify.message import Message, json_body
from prober.notify.wording import stamp


def compose(notices: Sequence[Notice], secret: str | None, now: dt.datetime) -> Sequence[Message]:
    """Build one message: the event itself, or a digest of several."""
    if len(notices) == 1:
        kind, content = kind_of(notices[0]), event(notices[0])
    else:
        kind = "digest"
        content = {
            "id": digest_id(notices),
            "type": kind,
            "at": stamp(now),
            "title": f"{len(notices)} events held back by the throttle",
            "events": [event(notice) for notice in notices],
        }
    body = json_body({"version": VERSION, **content})
    timestamp = str(int(now.timestamp()))
    headers = {
        "Content-Type": "application/json",
        "X-Prober-Version": str(VERSION),
        "X-Prober-Event": kind,
        "X-Prober-Delivery": str(content["id"]),
        "X-Prober-Timestamp": timestamp,
        "X-Prober-Signature": f"v1={sign(secret or '', timestamp, body)}",
    }
    return (Message(headers=headers, body=body),)


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """HMAC-SHA256 (RFC 2104) over `<timestamp>.<body>`, in hexadecimal: a recorded message cannot be replayed later."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def digest_id(notices: Sequence[Notice]) -> str:
    """Name a digest by what is in it, so that the same one sent again is recognised."""
    return hashlib.sha256("\n".join(notice.event_id for notice in notices).encode()).hexdigest()[:32]


WEBHOOK = Format(compose=compose)
