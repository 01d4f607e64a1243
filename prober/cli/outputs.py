"""Where reports go: `FORMAT=FILE`, any number of them, checked before a run and written after it."""

import contextlib
import dataclasses
import os
import pathlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

import typer

from prober.cli.terminal import silence
from prober.domain.errors import ConfigError, ProberError
from prober.report.facts import Facts
from prober.report.formats import FORMATS

STDOUT = "-"

ReportsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--report",
        metavar="FORMAT=FILE",
        help=f"Write a report ({', '.join(FORMATS)}); - for stdout; repeatable.",
    ),
]


@dataclasses.dataclass(frozen=True, slots=True)
class Output:
    """One report to write."""

    form: str
    """A key of `FORMATS`."""
    file: str
    """A path, or `-`."""


def outputs_of(wanted: Sequence[str] | None, json_file: str | None = None) -> tuple[Output, ...]:
    """Read `--report` and `--json`, and require that all of it can be written.

    Raises:
        ConfigError: no such format, no file, a file named twice, or one that cannot be written.
    """
    found = [] if json_file is None else [Output("json", json_file)]
    found += map(_read, wanted or ())
    files = [output.file if output.file == STDOUT else str(pathlib.Path(output.file).absolute()) for output in found]
    for file in files:
        if files.count(file) > 1:
            raise ConfigError(f"{'standard output' if file == STDOUT else file} is named for two reports")
        require_writable(file)
    return tuple(found)


def _read(wanted: str) -> Output:
    form, _, file = wanted.partition("=")
    if form not in FORMATS:
        raise ConfigError(f"no report format {form!r}; there are: {', '.join(FORMATS)}")
    if not file:
        raise ConfigError(f"say where the report goes: --report {form}=FILE, or {form}=- for standard output")
    return Output(form, file)


def uses_stdout(outputs: Sequence[Output]) -> bool:
    """Whether standard output is a report's, so that what is for people goes to standard error."""
    return any(output.file == STDOUT for output in outputs)


def write_reports(outputs: Sequence[Output], facts: Facts) -> None:
    """Write them all; what fails for one is raised once all have had their turn.

    Raises:
        ProberError: disk full, reader gone, folder taken away.
    """
    write_all(outputs, lambda output: FORMATS[output.form](facts))


def write_all(outputs: Sequence[Output], text_of: Callable[[Output], str]) -> None:
    """Likewise, with texts from wherever they are made."""
    faults: list[ProberError] = []
    for output in outputs:
        try:
            write(output.file, text_of(output))
        except ProberError as fault:
            faults.append(fault)
    if faults:
        raise faults[0]


def require_writable(file: str | pathlib.Path | None) -> None:
    """Refuse before the run, which may cost millions of tokens, not after it.

    Raises:
        ConfigError: it cannot be written.
    """
    if file in (None, STDOUT):
        return
    path = pathlib.Path(str(file))
    try:
        owner = path if path.exists() else path.parent
        is_writable = not path.is_dir() and path.parent.is_dir() and os.access(owner, os.W_OK)
    except OSError:
        is_writable = False
    if not is_writable:
        raise ConfigError(f"{path} cannot be written; name a file in a folder that exists and is yours")


def write(file: str, text: str) -> None:
    """Write one text.

    Raises:
        ProberError: as for `complaining`.
    """
    with complaining(file):
        if file == STDOUT:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            pathlib.Path(file).write_text(text, encoding="utf-8")


@contextlib.contextmanager
def complaining(file: str | pathlib.Path) -> Iterator[None]:
    """Say in our own words that a file could not be written, though the run is done.

    Raises:
        ProberError: disk full, reader gone, folder taken away.
    """
    try:
        yield
    except OSError as error:
        if file == STDOUT:
            silence(sys.stdout)
        name = "standard output" if file == STDOUT else file
        why = error.strerror or type(error).__name__
        raise ProberError(f"{name} could not be written ({why}); the run itself stands in the database") from None
