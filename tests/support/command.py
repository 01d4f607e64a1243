"""The `prober` command: in this process, or as a child of its own; and a folder with all that it needs."""

import asyncio
import contextlib
import dataclasses
import functools
import io
import json
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from prober.cli import main
from prober.config.keyring_file import create_keyring
from prober.store.migrate import upgrade

CREDENTIALS = {"ALPHA_KEY": "sk-alpha-9f8e7d6c5b4a", "BRAVO_KEY": "sk-bravo-1a2b3c4d5e6f"}


@dataclasses.dataclass(frozen=True)
class Finished:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def said(self) -> str:
        """Both channels on one line, as a reader takes them in."""
        return " ".join((self.stdout + " " + self.stderr).split())


@dataclasses.dataclass(frozen=True)
class Workplace:
    """A folder with configuration, key and database."""

    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "prober.yaml"

    @property
    def database(self) -> Path:
        return self.folder / "prober.db"

    def configure(self, url: str, **target: object) -> "Workplace":
        """Write a configuration of one target, small and quick unless told otherwise."""
        wanted: dict[str, Any] = {
            "url": url,
            "dialect": "openai-chat",
            "model": "llm",
            "context_tokens": 20_000,
            "prefill_pool_tokens": 9_984,
            "shared": False,
            # A busy machine must not look like a target that hangs.
            "hang_seconds": 10,
            "deadline_seconds": 30,
            "tenants": [
                {"name": "alpha", "credential": "${ALPHA_KEY}"},
                {"name": "bravo", "credential": "${BRAVO_KEY}"},
            ],
            "scenarios": ["baseline", "seed_and_probe"],
            "settings": {
                "baseline_probes": 1,
                "anchor_probes": 1,
                "baseline_tokens": 2_000,
                "seed_tokens": 3_000,
                "donor_tokens": 1_500,
                "over_limit_probes": 1,
            },
        }
        document = {
            "version": 1,
            "key_file": "canary.key",
            "database": f"sqlite:///{self.database}",
            "targets": {"hostile": wanted | target},
        }
        self.config.write_text(json.dumps(document), encoding="utf-8")
        self.config.chmod(0o600)
        return self

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the database holds, read past the prober."""
        with contextlib.closing(sqlite3.connect(self.database)) as connection:
            return connection.execute(query).fetchall()

    def change(self, statement: str, *values: object) -> None:
        """Tamper with the database, past the prober."""
        with contextlib.closing(sqlite3.connect(self.database)) as connection, connection:
            connection.execute(statement, values)

    def run_rows(self) -> list[tuple[Any, ...]]:
        """Outcome, reasons and end of every run."""
        found = self.rows("SELECT outcome, reasons, ended_at FROM runs")
        return [(outcome, json.loads(reasons) if reasons else None, ended) for outcome, reasons, ended in found]

    def answers(self) -> list[str | None]:
        """The answer stored for each probe; None for one that was remembered and never came back."""
        query = "SELECT answer FROM probes LEFT JOIN observations ON probe_id = probes.id ORDER BY probes.id"
        return [answer for (answer,) in self.rows(query)]

    def invoke(self, *arguments: str, environment: Mapping[str, str] | None = None) -> Finished:
        """Run a command of this folder's configuration in this process."""
        return invoke(*arguments, environment={"PROBER_CONFIG": str(self.config), **CREDENTIALS, **(environment or {})})

    async def invoke_beside(self, *arguments: str, environment: Mapping[str, str] | None = None) -> Finished:
        """Likewise in a thread, so that servers of the test's own loop go on answering."""
        return await asyncio.to_thread(functools.partial(self.invoke, *arguments, environment=environment))

    async def spawn(self, *arguments: str, read_stdout: bool = True) -> asyncio.subprocess.Process:
        """Start a command as a process of its own; without a reader its standard output is a closed pipe."""
        reader, writer = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "prober",
                *arguments,
                cwd=self.folder,
                env={**os.environ, "PROBER_CONFIG": str(self.config), **CREDENTIALS},
                stdout=asyncio.subprocess.PIPE if read_stdout else writer,
                stderr=asyncio.subprocess.PIPE,
                # Jobs in the background of a shell inherit an ignored SIGINT, and their children would too.
                preexec_fn=_restore_interrupts,
            )
        finally:
            os.close(reader)
            os.close(writer)
        return process


def _restore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@functools.cache
def _template() -> Path:
    """A migrated, empty database; migrating takes longer than most tests."""
    folder = Path(tempfile.mkdtemp(prefix="prober-template-"))
    asyncio.run(upgrade(f"sqlite:///{folder / 'prober.db'}"))
    return folder


def workplace(folder: Path) -> Workplace:
    """Lay out key and database; the configuration comes with `configure`. Not from within an event loop."""
    create_keyring(folder / "canary.key")
    for file in _template().iterdir():
        shutil.copy(file, folder / file.name)
    return Workplace(folder)


def invoke(*arguments: str, environment: Mapping[str, str] | None = None) -> Finished:
    """Run a command in this process, by its real entry point."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with _replaced(arguments, environment or {}), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code
    return Finished(code if isinstance(code, int) else 0 if code is None else 1, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _replaced(arguments: tuple[str, ...], environment: Mapping[str, str]) -> Iterator[None]:
    argv, before = sys.argv, dict(os.environ)
    sys.argv = ["prober", *arguments]
    os.environ.update({"COLUMNS": "200", **environment})
    try:
        yield
    finally:
        sys.argv = argv
        os.environ.clear()
        os.environ.update(before)


async def finish(process: asyncio.subprocess.Process, seconds: float = 60) -> Finished:
    """Wait for a process; one that does not end fails the test, and is ended."""
    try:
        out, err = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        process.send_signal(signal.SIGKILL)
        await process.wait()
        raise
    return Finished(-1 if process.returncode is None else process.returncode, (out or b"").decode(), err.decode())
