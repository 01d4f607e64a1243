"""One receiver."""

import dataclasses
from collections.abc import Mapping

from prober.domain.notice import Route, TrialNotice
from prober.notify.formats import FORMATS
from prober.notify.message import Fate
from prober.notify.receiver import Receiver
from tests.notify.test_message import Answered
from tests.support.issues import SEEN, a_notice, a_verdict_notice


@dataclasses.dataclass
class ScriptedClient:
    """Answers each post with the next status."""

    statuses: list[int]
    bodies: list[bytes] = dataclasses.field(default_factory=list)

    async def post(self, headers: Mapping[str, str], body: bytes) -> Answered:
        self.bodies.append(body)
        return Answered(self.statuses[len(self.bodies) - 1])


def receiver(kind: str, *statuses: int) -> tuple[Receiver, ScriptedClient]:
    client = ScriptedClient(list(statuses))
    made = Receiver(
        route=Route(receiver="ops"), form=FORMATS[kind], client=client, secret="s3cret", throttle_per_minute=10
    )
    return made, client


async def test_a_notice_is_sent_as_its_format_says():
    """One message, and what became of it; neither repr nor answer shows the secret."""
    made, client = receiver("webhook", 200)

    delivery = await made.send([a_notice()], SEEN)

    assert (delivery.fate, delivery.answer, len(client.bodies)) == (Fate.TAKEN, "HTTP 200", 1)
    assert (made.name, repr(made)) == ("ops", "Receiver(ops)")


async def test_several_messages_end_with_the_first_that_is_not_taken():
    """A trial at PagerDuty that cannot be triggered is not resolved either."""
    made, client = receiver("pagerduty", 500, 202)
    delivery = await made.send([TrialNotice(event_id="t", at=SEEN)], SEEN)
    assert (delivery.fate, len(client.bodies)) == (Fate.LATER, 1)

    made, client = receiver("pagerduty", 202, 202)
    assert (await made.send([TrialNotice(event_id="t", at=SEEN)], SEEN)).fate is Fate.TAKEN
    assert len(client.bodies) == 2


async def test_what_a_format_has_no_words_for_is_done_with():
    """It must not wait for ever for a message that is never made."""
    made, client = receiver("alertmanager")

    assert (await made.send([a_verdict_notice()], SEEN)).fate is Fate.TAKEN
    assert client.bodies == []
