"""A prober for self-tests."""

import json

import pytest

from prober.domain.errors import ConfigError
from prober.domain.outcome import Outcome
from prober.domain.self_test import self_test_name
from prober.service.self_watch_lab import leaking_lab, target_of
from prober.wiring.notifications import receivers_of, routes_of, told_of_issues
from prober.wiring.self_test import (
    MESSAGES_PER_MINUTE,
    flagged_receiver,
    flagged_sender,
    own_sender,
    route_of,
    self_testing,
)
from prober.wiring.service import open_replica
from prober.wiring.system import Switch
from tests.support.command import Workplace
from tests.support.issues import an_issue
from tests.wiring.test_prober import a_log, settings_of

NAME = self_test_name("0a1b2c3d")


def flagged(place: Workplace, **receiver: object) -> Workplace:
    document = json.loads(place.config.read_text())
    canary = {"kind": "webhook", "url": "https://siem.example/x", "secret": "hmac-secret-0123", "self_test": True}
    ops = {"kind": "webhook", "url": "https://siem.example/y", "secret": "hmac-secret-4567"}
    document["notifications"] = {"canary": canary | receiver, "ops": ops}
    place.config.write_text(json.dumps(document))
    return place


async def test_it_shares_keys_and_database_and_nothing_else(place: Workplace):
    """Live probes, receivers, budgets, metrics of targets, stop switch: all of its own."""
    settings = settings_of(flagged(place))
    stop = Switch()
    stop.set()
    async with open_replica(settings, log=a_log(settings)[0], stop=stop) as replica:
        own = self_testing(replica.prober, NAME, target_of(leaking_lab(), "http://127.0.0.1:9"), replica.self_test)

    assert (own.keyring, own.database) == (replica.prober.keyring, replica.prober.database)
    assert own.live is not replica.prober.live
    assert own.ledger._routes == own.issues._routes == (route_of(NAME),)
    assert own.settings.notifications == {}
    assert list(own.settings.targets) == [NAME]
    assert own.metrics is not replica.prober.metrics
    assert not own.is_charged
    assert replica.prober.is_charged
    assert not own.stop.is_set()


def test_its_receiver_hears_of_the_leak_alone():
    """One message that it is there, one that it is settled: not of the run's other findings, nor of anybody's."""
    route = route_of(NAME)

    assert route.takes_issue(an_issue(target=NAME))
    assert not route.takes_issue(an_issue(target="staging"))
    assert not route.takes_issue(an_issue(target=NAME, outcome=Outcome.SUSPECT))
    assert not route.takes_verdict(NAME)
    assert own_sender("http://127.0.0.1:9/", "secret", NAME).name == NAME


async def test_a_flagged_receiver_is_told_of_nothing_else(place: Workplace):
    """It has no route for issues and no loop that sends to it, and its own throttle holds no self-test up."""
    settings = settings_of(flagged(place, throttle_per_minute=1))

    assert flagged_receiver(settings) == "canary"
    assert told_of_issues(settings) == ("ops",)
    assert [route.receiver for route in routes_of(settings)] == ["ops"]
    assert [receiver.name for receiver in receivers_of(settings)] == ["ops"]
    sender = flagged_sender(settings, "canary", NAME)
    assert (sender.name, sender.throttle_per_minute) == (NAME, MESSAGES_PER_MINUTE)


async def test_a_flagged_receiver_that_cannot_be_built_says_why(place: Workplace):
    """A routing key of the wrong length."""
    settings = settings_of(flagged(place, kind="pagerduty", secret="short-key-0123"))
    with pytest.raises(ConfigError, match="must have 32 characters"):
        flagged_sender(settings, "canary", NAME)


def test_without_one_there_is_none(place: Workplace):
    """Then the service's own takes them."""
    assert flagged_receiver(settings_of(place)) is None
