"""The configuration's section `notifications`: who is told about issues and rollouts."""

import enum
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from prober.config import rules
from prober.config.problems import Location
from prober.config.secret import Secret
from prober.config.section import Section

Objection = tuple[Location, str]

MAX_RECEIVERS = 50
"""Each has a loop of its own, and a row for each event."""


class ReceiverKind(enum.Enum):
    """What a receiver understands."""

    WEBHOOK = "webhook"
    SLACK = "slack"
    PAGERDUTY = "pagerduty"
    ALERTMANAGER = "alertmanager"


class ReceiverSettings(Section):
    """One receiver."""

    kind: ReceiverKind
    """What it understands."""
    url: Annotated[Secret, AfterValidator(rules.receiver_url)] | None = None
    """Its address, which may hold a secret."""
    url_file: Path | None = None
    """File that holds its address."""
    secret: Annotated[Secret, AfterValidator(rules.credential)] | None = None
    """Signing key, routing key or bearer token."""
    secret_file: Path | None = None
    """File that holds the secret."""
    ca_file: Path | None = None
    """PEM file that replaces the public authorities."""
    min_outcome: Literal["suspect", "violation"] = "suspect"
    """Least outcome of issues it is told about."""
    targets: tuple[str, ...] | None = None
    """Targets it is told about; all where left out."""
    throttle_per_minute: Annotated[int, Field(ge=1, le=600)] = 10
    """Most messages within a minute."""
    self_test: bool = False
    """It hears of the service's self-tests, and of nothing else."""


SECRETS = {"url": rules.receiver_url, "secret": rules.credential}
"""Keys whose value may stand in a file of its own -> the rule it is held to."""

_NEEDS_URL = frozenset(ReceiverKind) - {ReceiverKind.PAGERDUTY}
_NEEDS_SECRET = frozenset({ReceiverKind.WEBHOOK, ReceiverKind.PAGERDUTY})


def receiver_objections(receiver: ReceiverSettings, targets: Collection[str], base: Path) -> Iterator[Objection]:
    """Yield what does not fit together within one receiver, or names no target."""
    for key in SECRETS:
        if getattr(receiver, key) is not None and getattr(receiver, f"{key}_file") is not None:
            yield (f"{key}_file",), f"stands beside {key}; keep one of them"
    if receiver.kind in _NEEDS_URL and not _has(receiver, "url"):
        yield (), "needs a url or a url_file"
    if receiver.kind in _NEEDS_SECRET and not _has(receiver, "secret"):
        yield (), "needs a secret or a secret_file"
    if receiver.kind is ReceiverKind.SLACK and _has(receiver, "secret"):
        yield (), "takes no secret: that of Slack stands in its url"
    if receiver.ca_file is not None and not (base / receiver.ca_file).is_file():
        yield ("ca_file",), "is no file that can be found"
    yield from _target_objections(receiver, targets)


def _target_objections(receiver: ReceiverSettings, targets: Collection[str]) -> Iterator[Objection]:
    if receiver.self_test and receiver.targets is not None:
        yield ("targets",), "stands beside self_test: such a receiver hears of the self-test alone"
    if receiver.targets == ():
        yield ("targets",), "is empty; leave it out for all targets"
    for index, name in enumerate(receiver.targets or ()):
        if name not in targets:
            yield ("targets", index), "names no target of this file"


def self_test_objections(receivers: Mapping[str, ReceiverSettings]) -> Iterator[Objection]:
    """Yield what does not fit together among receivers: the self-test is told to one of them at most."""
    told = [name for name, receiver in receivers.items() if receiver.self_test]
    for name in told[1:]:
        yield (name, "self_test"), f"stands beside that of {told[0]}; one receiver hears of the self-test"


def is_secret(receiver: ReceiverSettings, key: str) -> bool:
    """Tell whether a value is better not written into the file itself."""
    return key == "secret" or receiver.kind is ReceiverKind.SLACK


def _has(receiver: ReceiverSettings, key: str) -> bool:
    return getattr(receiver, key) is not None or getattr(receiver, f"{key}_file") is not None
