"""Checking a configuration offline."""

from tests.support.command import Workplace


def test_validate_checks_offline_and_estimates(place: Workplace):
    """A good configuration is told with key and estimate; `--show` prints it with secrets masked."""
    place.configure("http://127.0.0.1:9/v1")
    finished = place.invoke("validate")
    shown = place.invoke("validate", "--show")

    assert finished.code == shown.code == 0
    assert "valid; canary key" in finished.stdout
    assert "hostile: a run sends about" in finished.stdout
    assert "baseline_tokens: 2000" in shown.stdout
    assert "**********" in shown.stdout
