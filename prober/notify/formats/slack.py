"""Slack's incoming webhooks, which Mattermost, Rocket.Chat and others take too.

Source: docs.slack.dev, "Sending messages using incoming webhooks" (`text`, `blocks`) and "Formatting message text"
(`&`, `<` and `>` are escaped). Where there are blocks, Slack shows `text` in notifications alone; the others show no
blocks (mattermost/mattermost#14973), and `text` alone. So either holds all that is told.
"""

import collections
import datetime as dt
import re
from collections.abc import Iterable, Iterator, Sequence

from prober.domain.notice import IssueNotice, Notice
from prober.notify.formats.format import Format
from prober.notify.message import Message, json_message
from prober.notify.wording import detail, title

_MAX_SECTION = 3_000
"""Of a section block: docs.slack.dev, "Section block"."""

_MAX_LINE = _MAX_SECTION - 2
"""Two asterisks make the head bold."""

_MAX_BODY = 9_000
"""Of all sections: some 13,000 characters are refused as `msg_blocks_too_long` (slackapi/bolt-js#2509)."""

_CUT_ENTITY = re.compile(r"&\w*\Z")


def compose(notices: Sequence[Notice], secret: str | None, now: dt.datetime) -> Sequence[Message]:
    """Build one message: the notice in words, or a digest that names what fits and counts the others."""
    del secret, now
    head, lines = _single(notices[0]) if len(notices) == 1 else _digest(notices)
    blocks = [
        _section(f"*{head}*"),
        *map(_section, _packed(lines)),
        {"type": "context", "elements": [{"type": "mrkdwn", "text": f"event {notices[0].event_id}"}]},
    ]
    return (json_message({"text": "\n".join([head, *lines]), "blocks": blocks}),)


def _single(notice: Notice) -> tuple[str, list[str]]:
    return _escape(title(notice)), [_escape(line) for line in detail(notice).splitlines()]


def _digest(notices: Sequence[Notice]) -> tuple[str, list[str]]:
    lines: list[str] = []
    left = _MAX_BODY
    for notice in notices:
        line = _escape(title(notice))
        left -= len(line) + 1
        if left < 0:
            lines.append(_counted(notices[len(lines) :]))
            break
        lines.append(line)
    return f"{len(notices)} events held back by the throttle", lines


def _counted(notices: Sequence[Notice]) -> str:
    changes = collections.Counter(
        notice.change.value if isinstance(notice, IssueNotice) else "verdict" for notice in notices
    )
    counted = ", ".join(f"{count} {change}" for change, count in sorted(changes.items()))
    return f"and {len(notices)} more: {counted}; `prober findings issues` lists all"


def _packed(lines: Iterable[str]) -> Iterator[str]:
    """Put lines together into as few sections as hold them."""
    packed = ""
    for line in lines:
        if packed and len(packed) + 1 + len(line) > _MAX_SECTION:
            yield packed
            packed = ""
        packed = f"{packed}\n{line}" if packed else line
    if packed:
        yield packed


def _section(text: str) -> dict[str, object]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def _escape(line: str) -> str:
    """Escape what Slack reads as markup; a line that no section holds is cut, never within an entity."""
    escaped = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped if len(escaped) <= _MAX_LINE else _CUT_ENTITY.sub("", escaped[:_MAX_LINE])


SLACK = Format(compose=compose)
