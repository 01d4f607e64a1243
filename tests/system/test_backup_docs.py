"""The commands of docs/backup.md do what the page says, executed as they stand there."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from prober.cli.exits import Exit
from tests.support.command import CREDENTIALS, Workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import hostile
from tests.support.markdown import document, section
from tests.support.postgres import postgres_clients, postgres_server

__all__ = ["postgres_server"]

PAGE = document("docs/backup.md")


def commands(heading: str) -> list[str]:
    """Shell blocks of a section, in their order."""
    return re.findall(r"```sh\n(.*?)```", section(PAGE, heading), re.DOTALL)


def in_shell(place: Workplace, block: str, **environment: str) -> None:
    """Execute a block as it stands, in the folder of a configuration."""
    path = os.pathsep.join((str(Path(sys.executable).parent), environment.pop("PATH", ""), os.environ["PATH"]))
    done = subprocess.run(
        ["/bin/sh", "-euc", block],
        cwd=place.folder,
        env={"PATH": path, "PROBER_CONFIG": str(place.config), "LC_ALL": "C", **CREDENTIALS, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


async def caught(place: Workplace, database: str | None = None) -> str:
    """Catch a leak under a vault key; returns its finding's number."""
    async with hostile(FakeLlm(leaks=True).handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1")
        content = json.loads(place.config.read_text()) | {"vault": {"key_file": "vault.key"}}
        content["database"] = database or content["database"]
        place.config.write_text(json.dumps(content))
        for verb in (("vault", "key", "new", str(place.folder / "vault.key")), ("db", "upgrade")):
            assert (await place.invoke_beside(*verb)).code == 0
        assert (await place.invoke_beside("run")).code == Exit.VIOLATION
    listed = await place.invoke_beside("findings", "list")
    return next(line for line in listed.stdout.splitlines() if "foreign_canary" in line).split()[0]


async def whole(place: Workplace, number: str) -> None:
    """Finding, donor and foreign text are there; a further run finds its place."""
    shown = await place.invoke_beside("findings", "show", number)
    assert "sent by tenant alpha" in shown.stdout, shown.said
    text = await place.invoke_beside("vault", "show", number, "--reason", "test")
    assert "| " in text.stdout, text.said
    assert (await place.invoke_beside("vault", "log")).stdout.count("read") == 1


async def test_sqlite_as_written(place: Workplace) -> None:
    """Copy, lose everything, put back: all is there, and the vault is worth what its key is."""
    number = await caught(place)
    copy, put_back = commands("## SQLite")
    await asyncio.to_thread(in_shell, place, copy)
    for name in ("prober.db", "prober.db-wal", "prober.db-shm"):
        (place.folder / name).unlink(missing_ok=True)
    await asyncio.to_thread(in_shell, place, put_back)
    await whole(place, number)

    (place.folder / "vault.key").unlink()
    await place.invoke_beside("vault", "key", "new", str(place.folder / "vault.key"))
    shut = await place.invoke_beside("vault", "show", number, "--reason", "test")
    assert shut.code == Exit.OWN_FAILURE
    assert "which is not on the vault keyring" in shut.stderr
    assert (await place.invoke_beside("findings", "show", number)).code == 0


@pytest.fixture
async def databases(postgres_server: str) -> list[str]:
    """URLs of two empty databases."""
    server = postgres_server.rsplit("/", 1)[0]
    names = [f"prober_{kind}_{os.getpid()}" for kind in ("original", "copy")]
    connection = await asyncpg.connect(postgres_server)
    for name in names:
        await connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    return [f"{server}/{name}" for name in names]


async def test_postgresql_as_written(place: Workplace, databases: list[str]) -> None:
    """Dump one database, restore into an empty one: all is there."""
    original, empty = databases
    number = await caught(place, original)
    dump, put_back = commands("## PostgreSQL")
    clients = str(postgres_clients())
    await asyncio.to_thread(in_shell, place, dump, DATABASE=original, PATH=clients)
    content = json.loads(place.config.read_text())
    place.config.write_text(json.dumps({**content, "database": empty}))
    await asyncio.to_thread(in_shell, place, put_back, DATABASE=empty, PATH=clients)

    await whole(place, number)
    async with hostile(FakeLlm().handler()) as server:
        target = {**content["targets"]["hostile"], "url": f"http://127.0.0.1:{server.port}/v1"}
        place.config.write_text(json.dumps({**content, "database": empty, "targets": {"hostile": target}}))
        assert (await place.invoke_beside("run")).code == 0


def test_what_a_missing_key_means_is_said() -> None:
    """A reader learns before the disaster what each file is worth."""
    told = section(PAGE, "## What to back up")

    assert all(f"`{key}`" in told for key in ("key_file", "vault.key_file"))
