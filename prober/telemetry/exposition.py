"""Opens metrics, and writes them out where no server is there to be scraped."""

import pathlib
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import write_to_textfile

from prober import __version__
from prober.telemetry.metrics import Metrics


class MetricsBook:
    """A registry of our own and the `Metrics` that fill it."""

    def __init__(self, *, targets: Iterable[str], components: Iterable[str]) -> None:
        """Create every series at its starting value.

        Args:
            targets: names of the configured targets.
            components: parts of the prober whose internal errors are counted by name; others are `other`.
        """
        self._registry = CollectorRegistry()
        self.metrics = Metrics(self._registry, targets=targets, components=components, version=__version__)

    def text(self) -> str:
        """Render all series in Prometheus text format 0.0.4."""
        return generate_latest(self._registry).decode()

    def write_textfile(self, path: pathlib.Path) -> None:
        """Write them for node_exporter's textfile collector; replaced in one step, so never seen half.

        Raises:
            OSError: the file cannot be written.
        """
        write_to_textfile(str(path), self._registry)
