"""All dashboards. `make manifests` writes them as JSON."""

from deploy.grafana.health import HEALTH
from deploy.grafana.targets import TARGETS

DASHBOARDS = (TARGETS, HEALTH)
