"""Settings -> who is told what, and the way to them."""

import collections
from collections.abc import Mapping

from prober.config.notifications import ReceiverSettings
from prober.config.schema import Settings
from prober.domain.errors import ConfigError
from prober.domain.notice import Route
from prober.domain.outcome import Outcome
from prober.endpoint.plain_client import PlainClient
from prober.notify.formats import FORMATS
from prober.notify.receiver import Receiver
from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.issues import IssueBook


def routes_of(settings: Settings) -> tuple[Route, ...]:
    """Say which notices each configured receiver gets; who changes issues or ends runs hands them to the outbox."""
    return tuple(_route(name, settings.notifications[name]) for name in told_of_issues(settings))


def told_of_issues(settings: Settings) -> tuple[str, ...]:
    """Name the receivers of issues and rollouts: all but the one that hears of the self-test alone."""
    return tuple(name for name, receiver in settings.notifications.items() if not receiver.self_test)


def receivers_of(settings: Settings) -> tuple[Receiver, ...]:
    """Build the senders. Takes some 50 ms for each that speaks TLS, and reads certificates.

    Raises:
        ConfigError: an address or certificate that cannot be used.
    """
    return tuple(receiver_of(settings, name) for name in told_of_issues(settings))


def receiver_of(settings: Settings, name: str, route: Route | None = None) -> Receiver:
    """Build one sender; `route` stands for its configured one.

    Raises:
        ConfigError: there is no receiver of that name, or its address or certificate cannot be used.
    """
    try:
        receiver = settings.notifications[name]
    except KeyError:
        known = ", ".join(settings.notifications) or "none"
        raise ConfigError(f"no such receiver; the configuration has: {known}") from None
    form = FORMATS[receiver.kind.value]
    url = form.default_url if receiver.url is None else receiver.url.reveal()
    if url is None:
        raise ConfigError(f"receiver {name} has no address; these settings did not come from the loader")
    secret = None if receiver.secret is None else receiver.secret.reveal()
    if form.secret_length is not None and len(secret or "") != form.secret_length:
        raise ConfigError(f"the secret of receiver {name} must have {form.secret_length} characters")
    return Receiver(
        route=_route(name, receiver) if route is None else route,
        form=form,
        client=PlainClient(
            _address(url, form.path), ca_file=None if receiver.ca_file is None else str(receiver.ca_file)
        ),
        secret=secret,
        throttle_per_minute=receiver.throttle_per_minute,
    )


def issues_of(settings: Settings, database: Database, clock: Clock) -> IssueBook:
    """Open the issues of a database; what people change is told to the configured receivers."""
    return IssueBook(database, clock, routes_of(settings))


async def unsettled_counts(issues: IssueBook) -> Mapping[tuple[str, Outcome], int]:
    """Count the issues that are open or acknowledged, by target and outcome.

    Raises:
        LedgerError: the database failed.
    """
    return collections.Counter((issue.target, issue.outcome) for issue in await issues.unsettled())


def _route(name: str, receiver: ReceiverSettings) -> Route:
    return Route(
        receiver=name,
        min_outcome=Outcome(receiver.min_outcome),
        targets=frozenset(receiver.targets or ()),
        takes_verdicts=FORMATS[receiver.kind.value].takes_verdicts,
    )


def _address(url: str, path: str) -> str:
    """Append a format's own path, unless the address has it already; a query stays behind it."""
    place, mark, query = url.partition("?")
    return (place if place.endswith(path) else place.rstrip("/") + path) + mark + query
