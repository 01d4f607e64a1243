"""What alerts say and what the documents say is the same, both ways."""

import re

import pytest

from tests.deploy.test_rules import ALERTS
from tests.support.markdown import ROOT, document, links, rows, section
from tests.support.monitoring import checked

HEADINGS = ["Symptom", "Meaning", "First three steps", "Verification"]
ALERTMANAGER = ROOT / "deploy/prometheus/alertmanager.yaml"


def test_every_alert_has_its_page_and_every_page_its_alert():
    """Nobody is sent to a page that is not there, and no page is about an alert that cannot fire."""
    written = {path.stem for path in (ROOT / "docs/runbooks").glob("*.md")}

    assert written == set(ALERTS)


@pytest.mark.parametrize("alert", ALERTS)
def test_a_page_says_what_whoever_is_woken_needs(alert: str):
    """Symptom, meaning, exactly three steps, and how to see that it is over; on one screen."""
    text = document(f"docs/runbooks/{alert}.md")

    assert text.startswith(f"# {alert}\n")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS
    assert re.findall(r"^(\d)\. \S", section(text, "## First three steps"), re.MULTILINE) == ["1", "2", "3"]
    assert len(text.splitlines()) <= 50
    for heading in HEADINGS:
        assert len(section(text, f"## {heading}").split()) >= 5


def test_every_alert_stands_in_the_table_with_its_severity():
    """In the order of the rules, each linked to its page."""
    table = [(links(cells[0])[0], cells[1]) for cells in rows(document("docs/alerts.md"))]

    assert table == [(f"runbooks/{name}.md", rule["labels"]["severity"]) for name, rule in ALERTS.items()]


def test_pages_name_series_that_exist(documented_series: dict[str, str]):
    """A graph that a page sends somebody to has data."""
    named = {
        name for alert in ALERTS for name in re.findall(r"`(prober_[a-z0-9_]+)", document(f"docs/runbooks/{alert}.md"))
    }

    assert named <= set(documented_series)


def test_the_example_of_routing_is_accepted_and_routes():
    """Accepted by amtool; what is critical goes to the pager, everything else to the tickets."""
    done = checked("amtool", "check-config", ALERTMANAGER)
    assert done.returncode == 0, done.stdout + done.stderr
    for name, rule in ALERTS.items():
        labels = [f"{key}={value}" for key, value in {**rule["labels"], "alertname": name}.items()]
        routed = checked("amtool", "config", "routes", "test", f"--config.file={ALERTMANAGER}", *labels)
        assert routed.stdout.strip() == {"critical": "pager", "warning": "tickets"}[rule["labels"]["severity"]], name
