"""Metrics as a file, for node_exporter's textfile collector."""

import pathlib

import pytest
from prometheus_client.parser import text_string_to_metric_families

from prober import __version__
from prober.telemetry.exposition import MetricsBook


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
