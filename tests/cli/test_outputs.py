"""Where reports go."""

from pathlib import Path

import pytest

from prober.cli.outputs import Output, outputs_of, uses_stdout, write_all, write_reports
from prober.domain.errors import ConfigError, ProberError
from prober.report.facts import facts_of
from prober.report.formats import FORMATS
from tests.support.reports import a_report


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (["pdf=x"], "no report format 'pdf'; there are: console, json"),
        (["junit"], "say where the report goes: --report junit=FILE"),
        (["junit="], "say where"),
        (["junit=/no/such/folder/x"], "cannot be written"),
        (["junit=-", "json=-"], "standard output is named for two reports"),
    ],
)
def test_what_cannot_be_written_is_refused(wanted: list[str], words: str):
    """Before a run, which may cost millions of tokens."""
    with pytest.raises(ConfigError, match=words):
        outputs_of(wanted)


def test_one_file_is_one_report(tmp_path: Path):
    """Two reports in one file would be none, however the file is spelt."""
    with pytest.raises(ConfigError, match="named for two reports"):
        outputs_of([f"json={tmp_path}/x", f"html={tmp_path}/./x"])
    with pytest.raises(ConfigError, match="named for two reports"):
        outputs_of(["html=-"], "-")


def test_json_is_a_report_like_others(tmp_path: Path):
    """`--json FILE` is `--report json=FILE`; a file's name may hold an equals sign."""
    assert outputs_of([f"html={tmp_path}/a=b"], "-") == (Output("json", "-"), Output("html", f"{tmp_path}/a=b"))
    assert uses_stdout(outputs_of(None, "-"))
    assert not uses_stdout(outputs_of(None))


def test_every_format_is_written_at_once(tmp_path: Path):
    """As many as are asked for, whole."""
    outputs = outputs_of([f"{name}={tmp_path / name}" for name in FORMATS])
    facts = facts_of(a_report())
    write_reports(outputs, facts)

    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {
        name: render(facts) for name, render in FORMATS.items()
    }


def test_one_that_fails_keeps_no_other_back(tmp_path: Path):
    """A folder that vanished costs its own report, and is told."""
    outputs = (Output("json", str(tmp_path / "gone" / "x")), Output("html", str(tmp_path / "y")))

    with pytest.raises(ProberError, match="could not be written"):
        write_all(outputs, lambda output: output.form)
    assert (tmp_path / "y").read_text() == "html"
