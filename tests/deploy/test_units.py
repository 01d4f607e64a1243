"""The systemd units: accepted by systemd, and shut in."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from prober.config.schedules import ServiceSettings
from tests.architecture.test_docs import verbs
from tests.support.monitoring import ROOT

UNITS = sorted((ROOT / "deploy/systemd").iterdir())
SERVICES = [unit for unit in UNITS if unit.suffix == ".service"]
ANALYZE = shutil.which("systemd-analyze")
MOST_EXPOSURE = 20
"""Of 100, as `systemd-analyze security` counts; an ordinary service has 96."""


def settings_of(unit: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in re.findall(r"^(\w+)=(.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE):
        found.setdefault(key, []).append(value)
    return found


@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.name)
def test_a_service_is_shut_in(unit: Path):
    """Its own user, a file system that cannot be written to, no privilege to be had, files for itself alone."""
    settings = settings_of(unit)

    assert settings["User"] == ["prober"]
    for key, value in {
        "NoNewPrivileges": "yes",
        "ProtectSystem": "strict",
        "ProtectHome": "yes",
        "PrivateDevices": "yes",
        "CapabilityBoundingSet": "",
        "UMask": "0077",
        "SystemCallArchitectures": "native",
    }.items():
        assert settings[key] == [value], key


@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.name)
def test_commands_of_a_service_are_verbs(unit: Path):
    """What it runs exists; a drain fits into the time that systemd gives it."""
    settings = settings_of(unit)
    told = re.findall(r"/prober ((?:db )?\w+)", " ".join(settings["ExecStartPre"] + settings["ExecStart"]))

    assert len(told) == 2
    assert set(told) <= set(verbs())
    if "TimeoutStopSec" in settings:
        assert int(settings["TimeoutStopSec"][0]) >= ServiceSettings().drain_seconds + 10


def test_systemd_accepts_the_units(tmp_path: Path):
    """Where systemd is at hand: every key is known and every value is one, and little is left exposed."""
    if ANALYZE is None:
        assert UNITS, "nothing to judge them with; CI has it"
        return
    for unit in UNITS:
        text = unit.read_text(encoding="utf-8").replace("/opt/prober/bin/prober", "/bin/true")
        (tmp_path / unit.name).write_text(text, encoding="utf-8")
    files = [str(tmp_path / unit.name) for unit in UNITS]
    verified = subprocess.run(
        [ANALYZE, "verify", "--man=no", *files], check=False, capture_output=True, text=True, timeout=60
    )
    assert (verified.returncode, verified.stderr) == (0, "")
    for unit in SERVICES:
        judged = subprocess.run(
            [ANALYZE, "security", "--offline=true", f"--threshold={MOST_EXPOSURE}", str(tmp_path / unit.name)],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert judged.returncode == 0, judged.stdout[-300:]
