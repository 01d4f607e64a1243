"""Regions that share the canary key: text of one is recognised in another."""

import shutil
from pathlib import Path

import pytest

from prober.domain.canary import Canary
from prober.wiring.campaigns import read_settings
from prober.wiring.prober import open_lookups
from tests.support.command import CREDENTIALS, Workplace, workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import hostile

WEST = {"CAROL_KEY": "sk-carol-0a1b2c3d4e5f", "DAVE_KEY": "sk-dave-5f4e3d2c1b0a"}


@pytest.fixture
def east(tmp_path: Path) -> Workplace:
    (tmp_path / "east").mkdir()
    return workplace(tmp_path / "east")


@pytest.fixture
def west(tmp_path: Path, east: Workplace) -> Workplace:
    """Another machine with the same key, and a database of its own."""
    (tmp_path / "west").mkdir()
    made = workplace(tmp_path / "west")
    shutil.copy2(east.folder / "canary.key", made.folder / "canary.key")
    return made


async def leak_from_east_to_west(east: Workplace, west: Workplace) -> str:
    """East probes while all is well; later the target hands East's pages to West. The finding, as West shows it."""
    tenants = [
        {"name": "carol", "number": 31, "credential": "${CAROL_KEY}"},
        {"name": "dave", "number": 32, "credential": "${DAVE_KEY}"},
    ]
    llm = FakeLlm()
    async with hostile(llm.handler()) as server:
        url = f"http://127.0.0.1:{server.port}/v1"
        east.configure(url, settings={"baseline_tokens": 6_000, "baseline_probes": 1}, scenarios=["baseline"])
        assert (await east.invoke_beside("run")).code == 0
        llm.leaks = True
        west.configure(url, tenants=tenants)
        assert (await west.invoke_beside("run", environment=WEST)).code == 1
    listed = (await west.invoke_beside("findings", "list", environment=WEST)).stdout.splitlines()
    number = next(line for line in listed if "foreign_canary" in line or "late_echo" in line).split()[0]
    return (await west.invoke_beside("findings", "show", number, environment=WEST)).stdout


def canary_in(shown: str) -> Canary:
    (line, *_) = [line for line in shown.splitlines() if line.startswith("  canary t")]
    tenant, probe = line.split()[1].rstrip(":").removeprefix("t").split("-p")
    return Canary(int(tenant), int(probe, 16))


async def test_text_of_one_region_is_recognised_in_another(east: Workplace, west: Workplace):
    """By the key alone West names tenant and probe; East's own look-up tells which run sent it, and when."""
    shown = await leak_from_east_to_west(east, west)
    canary = canary_in(shown)
    assert canary.tenant_number in {1, 2}
    assert "not sent by any run in this database" in shown

    async with open_lookups(read_settings(east.config, CREDENTIALS).settings) as lookups:
        owner = await lookups.whose(canary)
        (run,) = await lookups.runs()
    assert owner is not None
    assert owner.run_id == run.run_id
    assert owner.tenant == {1: "alpha", 2: "bravo"}[canary.tenant_number]

    issue = await west.invoke_beside("findings", "issue", "1", environment=WEST)
    assert "VIOLATION" in issue.stdout


async def test_regions_on_one_database_name_the_run_at_once(east: Workplace, west: Workplace):
    """Where the database is shared too, the finding itself says whose run it was."""
    west.database.unlink()
    west.database.symlink_to(east.database)

    shown = await leak_from_east_to_west(east, west)

    assert "sent by tenant alpha as baseline/" in shown or "sent by tenant bravo as baseline/" in shown
