"""The self-test's notices on their way, to its own receiver and to configured ones."""

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from prober.domain.campaign import Run, Trigger
from prober.domain.errors import LedgerError
from prober.domain.self_test import self_test_name
from prober.service.self_watch_alert import NotToldError, alert
from prober.service.self_watch_lab import leaking_lab, target_of
from prober.service.self_watch_receiver import OwnReceiver
from prober.store.outbox import Outbox
from prober.store.self_test_rows import told
from prober.wiring.campaigns import campaign_of
from prober.wiring.prober import Prober
from prober.wiring.self_test import self_testing
from prober.wiring.service import Replica, open_replica
from prober.wiring.system import Switch
from tests.support.command import Workplace, workplace
from tests.support.receiving import receiving
from tests.support.reports import a_leak, a_report
from tests.support.stored import CHECK, ESTIMATE, PROMPT, judged
from tests.wiring.test_prober import a_log, settings_of

NAME = self_test_name("0a1b2c3d")


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return workplace(tmp_path).configure("http://127.0.0.1:9/v1")


def flag(place: Workplace, url: str, **receiver: object) -> None:
    """Configure a receiver for the self-test beside one for issues."""
    document = json.loads(place.config.read_text())
    own = {"kind": "webhook", "url": url, "secret": "hmac-secret-0123", "self_test": True}
    other = {"kind": "webhook", "url": "http://127.0.0.1:9/", "secret": "hmac-secret-4567"}
    document["notifications"] = {"canary": own | receiver, "ops": other}
    place.config.write_text(json.dumps(document))


@contextlib.asynccontextmanager
async def found(place: Workplace) -> AsyncIterator[tuple[Replica, Prober]]:
    """A replica, and the prober of a self-test whose ledger holds the leak."""
    settings = settings_of(place)
    async with open_replica(settings, log=a_log(settings)[0], stop=Switch()) as replica:
        prober = self_testing(replica.prober, NAME, target_of(leaking_lab(), "http://127.0.0.1:9"), replica.self_test)
        report = a_report(findings=(a_leak(),))
        run = Run(
            run_id=report.run.run_id,
            campaign=campaign_of(prober.settings, NAME),
            trigger=Trigger.MANUAL,
            started_at=report.run.started_at,
        )
        await prober.ledger.open_run(run, ESTIMATE)
        await prober.ledger.remember(run, [(CHECK, PROMPT)])
        await prober.ledger.record(run, judged(a_leak()))
        yield replica, prober


async def test_without_a_receiver_of_its_own_it_goes_to_ours(place: Workplace):
    """Opened, then settled; nobody else is told."""
    async with found(place) as (replica, prober):
        await alert(prober, replica.prober.settings, NAME, a_log(prober.settings)[0])
        state = await told(prober.database, NAME)
        assert (state.sent, state.pending) == (2, 0)
        assert place.rows("SELECT DISTINCT receiver FROM notices") == [(NAME,)]


async def test_a_configured_receiver_hears_of_it_alone(place: Workplace):
    """As a signed webhook about the self-test's own target; the receiver of issues hears nothing; a fault passes."""
    async with receiving(503) as siem:
        flag(place, siem.url, throttle_per_minute=1)
        async with found(place) as (replica, prober):
            await alert(prober, replica.prober.settings, NAME, a_log(prober.settings)[0])
            assert place.rows("SELECT DISTINCT receiver FROM notices") == [(NAME,)]
            assert replica.prober.metrics.shown("prober_notices_sent_total", receiver="canary") is None
            assert replica.prober.metrics.shown("prober_notices_sent_total", receiver="ops") == 0

    assert [body["type"] for body in siem.taken] == ["issue.opened", "issue.resolved"]
    assert {body["issue"]["target"] for body in siem.taken} == {NAME}
    assert siem.tries == 3


@pytest.mark.parametrize("kind", ["pagerduty", "alertmanager", "slack"])
async def test_every_kind_of_receiver_is_left_without_an_alert(place: Workplace, kind: str):
    """What one message opened, the other ends."""
    secret = {"pagerduty": {"secret": "a" * 32}, "alertmanager": {"secret": None}, "slack": {"secret": None}}[kind]
    async with receiving(200, 202, 202, 202) as receiver:
        flag(place, receiver.url, kind=kind, **secret)
        async with found(place) as (replica, prober):
            await alert(prober, replica.prober.settings, NAME, a_log(prober.settings)[0])
    assert receiver.tries == 2
    last = json.dumps(receiver.taken[-1])
    assert {"pagerduty": '"resolve"', "alertmanager": "endsAt", "slack": "resolved"}[kind] in last


async def test_a_receiver_that_refuses_is_not_tried_again(place: Workplace):
    """It will never take the notice: what it answered is said."""
    async with receiving(400) as siem:
        flag(place, siem.url)
        async with found(place) as (replica, prober):
            with pytest.raises(NotToldError, match="HTTP 400"):
                await alert(prober, replica.prober.settings, NAME, a_log(prober.settings)[0])


async def test_an_outbox_without_the_notice_is_no_success(place: Workplace):
    """Nothing to send is not the same as sent."""
    async with found(place) as (replica, prober):
        place.change("DELETE FROM notices")
        with pytest.raises(NotToldError, match="holds no notice"):
            await alert(prober, replica.prober.settings, NAME, a_log(prober.settings)[0])


async def test_a_receiver_that_took_something_else_is_no_success(place: Workplace, monkeypatch: pytest.MonkeyPatch):
    """A sender that says it sent proves nothing: what arrived counts."""
    monkeypatch.setattr(OwnReceiver, "_take", lambda *_: "200 OK")
    async with found(place) as (replica, prober):
        with pytest.raises(NotToldError, match="something else"):
            await alert(prober, replica.prober.settings, NAME, a_log(prober.settings)[0])


@pytest.mark.parametrize("fault", [LedgerError("The database does not answer."), RuntimeError("bug")])
async def test_faults_of_the_outbox_come_through(place: Workplace, monkeypatch: pytest.MonkeyPatch, fault: Exception):
    """A database that fails is told as such; a bug of ours stays one."""

    async def fail(*_: object) -> None:
        raise fault

    async with found(place) as (replica, prober):
        monkeypatch.setattr(Outbox, "claim", fail)
        with pytest.raises((LedgerError, ExceptionGroup)) as caught:
            await alert(prober, replica.prober.settings, NAME, a_log(prober.settings)[0])
    assert isinstance(caught.value, LedgerError) == isinstance(fault, LedgerError)
