"""Opens metrics, and writes them out where no server is there to be scraped."""

import pathlib
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import write_to_textfile

from prober import __version__
from prober.telemetry.metrics import Metrics

COMPONENTS = ("detector", "ladder", "ledger", "endpoint", "telemetry", "scheduler")
"""Names that internal errors are counted under; anything else is `other`."""


class MetricsBook:
    """A registry of our own and the `Metrics` that fill it."""

    def __init__(self, targets: Iterable[str]) -> None:
        self._registry = CollectorRegistry()
        self.metrics = Metrics(self._registry, targets=targets, components=COMPONENTS, version=__version__)

    def text(self) -> str:
        """Render all series in Prometheus text format 0.0.4."""
        return generate_latest(self._registry).decode()

    def write_textfile(self, path: pathlib.Path) -> None:
        """Write them for node_exporter's textfile collector; replaced in one step, so never seen half.

        Raises:
            OSError: the file cannot be written.
        """
        write_to_textfile(str(path), self._registry)
