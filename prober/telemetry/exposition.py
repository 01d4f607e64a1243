"""Opens metrics, and writes them out where no server is there to be scraped."""

import pathlib
from collections.abc import Iterable, Mapping, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import write_to_textfile
from prometheus_client.parser import text_string_to_metric_families

from prober import __version__
from prober.domain.budget import Cap
from prober.telemetry.metrics import Metrics
from prober.telemetry.notification_series import NotificationSeries
from prober.telemetry.self_test_series import SelfTestSeries
from prober.telemetry.service_series import ServiceSeries
from prober.telemetry.spending_series import SpendingSeries


class MetricsBook:
    """A registry of our own, and the `Metrics`, `SpendingSeries` and `NotificationSeries` that fill it."""

    def __init__(
        self,
        *,
        targets: Iterable[str],
        components: Iterable[str],
        tenants: Mapping[str, Sequence[str]] | None = None,
        caps: Sequence[Cap] = (),
        receivers: Iterable[str] = (),
    ) -> None:
        """Create every series at its starting value.

        Args:
            targets: names of the configured targets.
            components: parts of the prober whose internal errors are counted by name; others are `other`.
            tenants: names of their tenants, by target.
            caps: what is bounded by the hour and the day.
            receivers: names of those who are told about issues.
        """
        self._registry = CollectorRegistry()
        self.metrics = Metrics(self._registry, targets=targets, components=components, version=__version__)
        self.notifications = NotificationSeries(self._registry, targets=targets, receivers=receivers)
        self.spending = SpendingSeries(self._registry, tenants=tenants or {}, caps=caps)

    def service_series(self, targets: Iterable[str]) -> ServiceSeries:
        """Create the series of the always-on service beside the others; once."""
        return ServiceSeries(self._registry, targets=targets)

    def self_test_series(self) -> SelfTestSeries:
        """Create the series of the service's self-test beside the others; once."""
        return SelfTestSeries(self._registry)

    def shown(self, series: str, **labels: str) -> float | None:
        """Read a value back as a scrape shows it; None: it does not."""
        text = generate_latest(self._registry.restricted_registry([series])).decode()
        return next(
            (
                sample.value
                for family in text_string_to_metric_families(text)
                for sample in family.samples
                if sample.name == series and sample.labels == labels
            ),
            None,
        )

    def announce(self, targets: Iterable[str]) -> None:
        """Create every label set of targets that a new configuration brought."""
        for target in targets:
            self.metrics.announce(target)
            self.notifications.announce(target)

    def text(self) -> str:
        """Render all series in Prometheus text format 0.0.4."""
        return generate_latest(self._registry).decode()

    def write_textfile(self, path: pathlib.Path) -> None:
        """Write them for node_exporter's textfile collector; replaced in one step, so never seen half.

        Raises:
            OSError: the file cannot be written.
        """
        write_to_textfile(str(path), self._registry)
