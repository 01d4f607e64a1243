"""Formats of receivers, by the name that a configuration calls them."""

from collections.abc import Mapping

from prober.notify.formats.alertmanager import ALERTMANAGER
from prober.notify.formats.format import Format
from prober.notify.formats.pagerduty import PAGERDUTY
from prober.notify.formats.slack import SLACK
from prober.notify.formats.webhook import WEBHOOK

FORMATS: Mapping[str, Format] = {
    "webhook": WEBHOOK,
    "slack": SLACK,
    "pagerduty": PAGERDUTY,
    "alertmanager": ALERTMANAGER,
}
