"""Slack's incoming webhooks.

Recorded from docs.slack.dev, "Sending messages using incoming webhooks": a message has `text`, and `blocks` such as
{"type": "section", "text": {"type": "mrkdwn", "text": "Danny left the following review:"}}.
"""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from prober.domain.issue import IssueChange
from prober.notify.formats.slack import compose
from prober.notify.wording import title
from prober.service.deliveries import MOST_IN_ONE
from tests.support.issues import SEEN, a_notice, a_verdict_notice


def content_of(*notices: object) -> dict:
    (message,) = compose(notices, None, SEEN)
    assert message.headers["Content-Type"] == "application/json"
    return json.loads(message.body)


def texts(content: dict) -> list[str]:
    return [block["text"]["text"] for block in content["blocks"] if block["type"] == "section"]


def test_a_message_has_slacks_shape():
    """Text for the notification, sections of mrkdwn, a context with the event's id: nothing else."""
    content = content_of(a_notice())

    assert set(content) == {"text", "blocks"}
    assert content["text"].splitlines()[0] == "VIOLATION on staging: foreign_canary opened (issue 12)"
    assert [block["type"] for block in content["blocks"]] == ["section", "section", "context"]
    assert all(block["text"]["type"] == "mrkdwn" for block in content["blocks"] if "text" in block)
    assert content["blocks"][2]["elements"] == [{"type": "mrkdwn", "text": "event event-1"}]
    assert "Text of bravo came out: canary t0002-p00000004d, sent by run run-0." in texts(content)[1]


def test_marks_of_slacks_own_are_escaped():
    """A name cannot become a link or a mention: `&`, `<` and `>` are escaped, as Slack asks."""
    content = content_of(a_verdict_notice(build="<!channel> & <http://x|y>"))

    assert "&lt;!channel&gt; &amp; &lt;http://x|y&gt;" in content["text"]
    assert "<" not in json.dumps(content)


def test_what_shows_no_blocks_is_told_all_the_same():
    """Mattermost renders `text` alone: a message and a digest say there what Slack's blocks say."""
    notices = [a_notice(event_id=f"e{number}", issue_id=number) for number in range(30)]
    for content in (content_of(a_notice()), content_of(a_verdict_notice()), content_of(*notices)):
        head, *body = texts(content)
        assert content["text"] == "\n".join([head.strip("*"), *body])


def test_a_digest_names_every_event():
    """One message, in sections of at most 3,000 characters, as Slack asks: as many events as one digest holds."""
    notices = [a_notice(event_id=f"e{number}", issue_id=number) for number in range(MOST_IN_ONE)]
    content = content_of(*notices)

    assert content["text"].splitlines()[0] == f"{MOST_IN_ONE} events held back by the throttle"
    assert all(len(text) <= 3_000 for text in texts(content))
    lines = "\n".join(texts(content)[1:]).splitlines()
    assert lines == [title(notice) for notice in notices]


def test_a_digest_counts_what_it_has_no_room_for():
    """However long the names are: what is named, what is counted, and no message that Slack refuses for its size."""
    notices = [a_verdict_notice(event_id=f"e{number}", target="t" * 63, build="&" * 128) for number in range(98)]
    notices += [a_notice(IssueChange.CLOSED, event_id="closed"), a_notice(event_id="opened")]
    content = content_of(*notices)

    *named, counted = "\n".join(texts(content)[1:]).splitlines()
    assert counted.startswith(f"and {100 - len(named)} more: 1 closed, 1 opened, {98 - len(named)} verdict")
    assert all(line.startswith("Rollout of &amp;") for line in named)
    assert sum(map(len, texts(content))) < 10_000
    assert content["text"].endswith(counted)


@given(number=st.integers(0, 9), marks=st.integers(590, 1_000))
def test_a_line_that_no_section_holds_is_cut_between_entities(number: int, marks: int):
    """Half an entity would be shown as text, and one character too many refused."""
    content = content_of(a_verdict_notice(build="b" * number + "&" * marks))

    assert all(len(text) <= 3_000 for text in texts(content))
    assert not re.search(r"&(?!amp;)", content["text"])
