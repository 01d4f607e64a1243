"""A prober for the service's self-test: the same path on the same database, apart from everything of the users'."""

import dataclasses

from prober.config.budgets import OverallBudgetSettings
from prober.config.schema import Settings, TargetSettings
from prober.config.vault import VaultSettings
from prober.domain.finding import Reason
from prober.domain.notice import Route
from prober.domain.outcome import Outcome
from prober.endpoint.plain_client import PlainClient
from prober.notify.formats import FORMATS
from prober.notify.receiver import Receiver
from prober.runner.live_probes import LiveProbes
from prober.store.issues import IssueBook
from prober.store.ledger import SqlLedger
from prober.telemetry.exposition import MetricsBook
from prober.telemetry.fanout import Fanout
from prober.telemetry.self_test_series import SelfTestSeries, SelfTestTelemetry
from prober.wiring.notifications import receiver_of
from prober.wiring.prober import Prober
from prober.wiring.system import Switch, SystemClock
from prober.wiring.vault import vault_of

MESSAGES_PER_MINUTE = 60
"""To the self-test's receiver, whatever its throttle: two for each self-test."""

_OWN_FORM = "webhook"


def route_of(name: str) -> Route:
    """Say which notices a self-test's receiver gets: those about the one issue that must be opened."""
    return Route(
        receiver=name,
        min_outcome=Outcome.VIOLATION,
        targets=frozenset({name}),
        takes_verdicts=False,
        reasons=frozenset({Reason.FOREIGN_CANARY}),
    )


def self_testing(prober: Prober, name: str, target: TargetSettings, series: SelfTestSeries) -> Prober:
    """Give a prober for the self-test of this name against a lab of ours.

    Keys and database are the same. Budgets, breakers, metrics of targets, log, receivers and the live probes of other
    runs neither see it nor are seen by it; faults of our own are reported as ever. Its vault has no key, so that it
    keeps hashes and lengths. The global stop does not end it: it ends probing of targets.
    """
    clock, database = SystemClock(), prober.database
    settings = prober.settings.model_copy(
        update={
            "targets": {name: target},
            "budgets": OverallBudgetSettings(),
            "schedules": {},
            "notifications": {},
            "vault": VaultSettings(),
        }
    )
    routes = (route_of(name),)
    metrics = MetricsBook(targets=[name], components=(), receivers=[name])
    return dataclasses.replace(
        prober,
        settings=settings,
        live=LiveProbes(prober.keyring),
        ledger=SqlLedger(database, clock, routes=routes),
        issues=IssueBook(database, clock, routes),
        metrics=metrics,
        telemetry=Fanout([metrics.metrics, SelfTestTelemetry(series, prober.telemetry.internal_error)]),
        stop=Switch(),
        vault=vault_of(settings, database, clock),
        paces={},
        is_charged=False,
    )


def flagged_receiver(settings: Settings) -> str | None:
    """Name the receiver that the configuration has for self-tests; None: it has none."""
    return next((name for name, receiver in settings.notifications.items() if receiver.self_test), None)


def flagged_sender(settings: Settings, flagged: str, name: str) -> Receiver:
    """Build the sender of the self-test of this name to the configured receiver.

    Raises:
        ConfigError: its address or certificate cannot be used.
    """
    receiver = receiver_of(settings, flagged, route_of(name))
    receiver.throttle_per_minute = max(receiver.throttle_per_minute, MESSAGES_PER_MINUTE)
    return receiver


def own_sender(url: str, secret: str, name: str) -> Receiver:
    """Build the sender of the self-test of this name to a receiver of our own, by signed webhooks."""
    return Receiver(
        route=route_of(name),
        form=FORMATS[_OWN_FORM],
        client=PlainClient(url),
        secret=secret,
        throttle_per_minute=MESSAGES_PER_MINUTE,
    )
