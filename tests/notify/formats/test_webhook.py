"""Our own webhook: its body is versioned, and its signature can be verified as documented."""

import datetime as dt
import json
import re

import pytest

from prober.domain.issue import IssueChange
from prober.domain.notice import TrialNotice
from prober.notify.formats.webhook import compose, digest_id, sign
from tests.support.issues import SEEN, a_notice, a_verdict_notice
from tests.support.markdown import document, section

SECRET = "shared-secret-of-the-siem"


def documented_verifier() -> object:
    """The function that the documentation tells receivers to use."""
    (snippet,) = re.findall(r"```python\n(.*?)```", section(document("docs/notifications.md"), "## Webhook"), re.DOTALL)
    names: dict[str, object] = {}
    exec(snippet, names)  # noqa: S102 - our own documentation
    return names["is_genuine"]


def test_the_documented_verification_takes_what_we_send_and_nothing_else():
    """A message is genuine with the right secret, unchanged, and for five minutes."""
    is_genuine = documented_verifier()
    (message,) = compose([a_notice()], SECRET, SEEN)
    now = SEEN.timestamp()

    assert is_genuine(SECRET, message.headers, message.body, now + 299)
    assert not is_genuine("another", message.headers, message.body, now)
    assert not is_genuine(SECRET, message.headers, message.body + b" ", now)
    assert not is_genuine(SECRET, message.headers, message.body, now + 301)
    replayed = {**message.headers, "X-Prober-Timestamp": str(int(now) + 600)}
    assert not is_genuine(SECRET, replayed, message.body, now + 600)
    forgeries = (
        {},
        {"X-Prober-Timestamp": "soon"},
        {"X-Prober-Signature": "v1=\xe9"},
        {"X-Prober-Timestamp": "9" * 5_000},
    )
    for forged in forgeries:
        assert not is_genuine(SECRET, {**message.headers, **forged} if forged else {}, message.body, now)


def test_the_signature_is_the_one_that_others_compute():
    """HMAC-SHA256 over `1756728005.{}`, by an independent tool (`openssl dgst -sha256 -hmac key`)."""
    assert sign("key", "1756728005", b"{}") == "3512885880f70514ab5f666bb017faae002d19d898e1595ee74c4fc2ff71732e"


def test_headers_say_what_comes_and_the_secret_is_not_among_them():
    """A receiver can route and deduplicate without parsing."""
    (message,) = compose([a_notice(IssueChange.CLOSED)], SECRET, SEEN)

    assert message.headers["X-Prober-Version"] == "1"
    assert message.headers["X-Prober-Event"] == "issue.closed"
    assert message.headers["X-Prober-Delivery"] == "event-1"
    assert message.headers["X-Prober-Timestamp"] == str(int(SEEN.timestamp()))
    assert SECRET not in str(message.headers) + message.body.decode()


@pytest.mark.parametrize(
    ("notice", "kind", "part"),
    [
        (a_notice(), "issue.opened", "issue"),
        (a_verdict_notice(), "rollout.verdict", "verdict"),
        (TrialNotice(event_id="test-1", at=SEEN), "test", None),
    ],
)
def test_each_kind_of_event_has_its_documented_fields(notice: object, kind: str, part: str | None):
    """The fields of the documentation's table are those of the body, the issue's and the verdict's own too."""
    (message,) = compose([notice], SECRET, SEEN)
    content = json.loads(message.body)
    table = section(document("docs/notifications.md"), "## Webhook")

    assert (content["version"], content["type"], content["id"]) == (1, kind, notice.event_id)
    assert [name for name in content if f"| `{name}` |" not in table] == []
    inner = content[part] if part else {}
    (row,) = re.findall(rf"^\| `{part}` \| (.*) \|$", table, re.MULTILINE) if part else [""]
    assert [name for name in inner if f"`{name}`" not in row] == []


def test_a_digest_names_every_event_and_is_recognised_again():
    """Nothing is lost in it; the same events make the same id."""
    notices = [a_notice(event_id=f"event-{number}") for number in range(41)]
    (message,) = compose(notices, SECRET, SEEN)
    content = json.loads(message.body)

    assert (content["type"], message.headers["X-Prober-Event"]) == ("digest", "digest")
    assert [event["id"] for event in content["events"]] == [notice.event_id for notice in notices]
    assert content["id"] == digest_id(notices) != digest_id(notices[1:])
    assert content["at"] == SEEN.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
