"""Settings -> who is told what, and the way to them."""

import json
import re

import pytest

from prober.domain.campaign import Trigger
from prober.domain.errors import ConfigError
from prober.domain.notice import Route
from prober.domain.outcome import Outcome
from prober.notify.message import Fate
from prober.service.receiver_trial import try_receiver
from prober.wiring.campaigns import campaign_of, redactor_for
from prober.wiring.notifications import issues_of, receiver_of, receivers_of, routes_of, unsettled_counts
from prober.wiring.prober import open_current_database, open_issues, open_prober
from prober.wiring.system import SystemClock
from tests.support.command import Workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import hostile
from tests.support.receiving import receiving
from tests.wiring.test_prober import a_log, settings_of

KEY = "R0123456789abcdef0123456789abcde"


def told(place: Workplace, **receivers: dict[str, object]) -> Workplace:
    """Name receivers in the configuration."""
    document = json.loads(place.config.read_text())
    place.config.write_text(json.dumps(document | {"notifications": receivers}))
    return place


def test_routes_say_who_gets_what(place: Workplace):
    """By outcome and target; verdicts only where the receiver has words for them."""
    settings = settings_of(
        told(
            place,
            siem={"kind": "webhook", "url": "https://siem.example/", "secret": "s", "targets": ["hostile"]},
            pager={"kind": "pagerduty", "secret": KEY, "min_outcome": "violation"},
        )
    )

    assert routes_of(settings) == (
        Route(receiver="siem", targets=frozenset({"hostile"})),
        Route(receiver="pager", min_outcome=Outcome.VIOLATION, takes_verdicts=False),
    )
    assert [receiver.name for receiver in receivers_of(settings)] == ["siem", "pager"]


@pytest.mark.parametrize(
    "path", ["", "/", "/api/v2/alerts", "?tenant=a/b", "/?tenant=a/b", "/api/v2/alerts?tenant=a/b"]
)
async def test_alertmanager_is_reached_by_its_own_path(place: Workplace, path: str):
    """Whether or not the configuration names it, and whatever it asks of a proxy in front."""
    async with receiving() as manager:
        url = manager.url.removesuffix("/hook") + path
        settings = settings_of(told(place, alerts={"kind": "alertmanager", "url": url}))
        delivery = await try_receiver(receiver_of(settings, "alerts"), SystemClock())
        (call,) = manager.server.calls

    query = "?tenant=a/b" if "?" in path else ""
    assert (delivery.fate, call.path) == (Fate.TAKEN, f"/api/v2/alerts{query}")


def test_what_cannot_be_sent_to_is_refused(place: Workplace):
    """An unknown name, named ones listed; a routing key of another length, which PagerDuty would answer with 400."""
    settings = settings_of(told(place, pager={"kind": "pagerduty", "secret": "too-short"}))

    with pytest.raises(ConfigError, match="the configuration has: pager"):
        receiver_of(settings, "siem")
    with pytest.raises(ConfigError, match="32 characters"):
        receiver_of(settings, "pager")


def test_no_secret_of_a_receiver_can_be_logged(place: Workplace):
    """Addresses whole and in part, passwords, keys."""
    settings = settings_of(
        told(
            place,
            ops={"kind": "slack", "url": "https://hooks.example/services/T01/B02/s3cr3tpath"},
            alerts={"kind": "alertmanager", "url": "http://ann:pa55word@127.0.0.1:9093/?token=s3cr3tquery"},
            pager={"kind": "pagerduty", "secret": KEY},
        )
    )
    said = "POST /services/T01/B02/s3cr3tpath failed; pa55word; ?token=s3cr3tquery; " + KEY
    shown = redactor_for(settings).redact(said)

    assert not re.search("s3cr3t|pa55word|R0123", shown)


async def test_a_leak_found_by_a_run_waits_in_the_outbox_and_counts_after_a_restart(place: Workplace):
    """From a whole run: findings, issue, one notice for each receiver; the next process begins with what is open."""
    async with hostile(FakeLlm(leaks=True).handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1")
        settings = settings_of(
            told(
                place,
                siem={"kind": "webhook", "url": "https://siem.example/", "secret": "s"},
                pager={"kind": "pagerduty", "secret": KEY, "min_outcome": "violation"},
            )
        )
        async with open_prober(settings, log=a_log(settings)[0]) as prober:
            await prober.run(campaign_of(settings, "hostile"), Trigger.ROLLOUT)
            before = await unsettled_counts(prober.issues)
            at_the_end = prober.metrics.text()
    count = before["hostile", Outcome.VIOLATION]
    assert count > 0
    told_of = dict(place.rows("SELECT receiver, COUNT(*) FROM notices GROUP BY receiver"))
    assert told_of == {"pager": count, "siem": sum(before.values()) + 1}, "issues, and for the webhook the verdict"

    async with open_prober(settings, log=a_log(settings)[0]) as prober:
        metrics = prober.metrics.text()
    labels = 'outcome="violation",target="hostile"'
    assert f"prober_open_issues{{{labels}}} {count}.0" in at_the_end, "a textfile is written now, and once"
    assert f"prober_active_findings{{{labels}}} {count}.0" in metrics
    assert f"prober_open_issues{{{labels}}} {count}.0" in metrics


async def test_what_people_change_is_told_to_the_configured_receivers(place: Workplace):
    """Issues opened for reading and changing know the routes."""
    settings = settings_of(told(place, siem={"kind": "webhook", "url": "https://siem.example/", "secret": "s"}))
    async with open_current_database(settings) as database:
        assert await issues_of(settings, database, SystemClock()).listed() == ()
    async with open_issues(settings) as issues:
        assert await issues.find(1) is None
        assert issues._routes == routes_of(settings)
