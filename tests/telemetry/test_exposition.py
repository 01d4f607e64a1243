"""Metrics as a file, for node_exporter's textfile collector."""

import pathlib

import pytest
from prometheus_client.parser import text_string_to_metric_families

from prober import __version__
from prober.telemetry.exposition import MetricsBook
from prober.telemetry.self_test_series import Step


@pytest.fixture
def book():
    return MetricsBook(targets=["staging"], components=["ladder"])


def test_the_file_holds_what_is_shown(book: MetricsBook, tmp_path: pathlib.Path):
    """The textfile is the exposition to the letter, with every series and the prober's version."""
    file = tmp_path / "prober.prom"

    book.write_textfile(file)

    assert file.read_text() == book.text()
    families = {family.name: family for family in text_string_to_metric_families(file.read_text())}
    assert "prober_findings" in families
    assert families["prober_build_info"].samples[0].labels == {"version": __version__}


def test_the_file_is_replaced_as_a_whole(book: MetricsBook, tmp_path: pathlib.Path):
    """A later state takes the place of an earlier one; nothing else is left in the folder for the collector to read."""
    file = tmp_path / "prober.prom"
    book.write_textfile(file)

    book.metrics.internal_error("ladder", RuntimeError())
    book.write_textfile(file)

    assert 'prober_internal_errors_total{component="ladder"} 1.0' in file.read_text()
    assert list(tmp_path.iterdir()) == [file]


def test_two_books_do_not_share_a_registry(book: MetricsBook):
    """A second prober in one process counts for itself."""
    other = MetricsBook(targets=["staging"], components=["ladder"])

    other.metrics.internal_error("ladder", RuntimeError())

    assert 'prober_internal_errors_total{component="ladder"} 0.0' in book.text()


def test_a_place_that_cannot_be_written_is_said(book: MetricsBook, tmp_path: pathlib.Path):
    """The caller learns that the file is not there."""
    with pytest.raises(OSError, match="missing"):
        book.write_textfile(tmp_path / "missing" / "prober.prom")


def test_a_value_is_read_back_as_a_scrape_shows_it(book: MetricsBook):
    """By name and all labels; what is not shown has no value."""
    series = book.self_test_series()
    series.found(3)
    series.failed(Step.LEDGER, 1.5)

    assert book.shown("prober_selftest_violations_total") == 3
    assert book.shown("prober_selftest_failures_total", step="ledger") == 1
    assert book.shown("prober_selftest_failures_total", step="alert") == 0
    assert book.shown("prober_selftest_failures_total") is None
    assert book.shown("prober_of_nobody_total") is None
