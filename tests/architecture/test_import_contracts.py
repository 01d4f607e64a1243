"""Every import contract holds, and every one is able to fail."""

import pathlib
import shutil
import subprocess
import sys
import tomllib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]

BREACHES = {
    "layers": ("prober/domain/tenant.py", "import prober.runner.ports"),
    "acyclic": ("prober/domain/outcome.py", "import prober.domain.finding"),
    "pure": ("prober/detect/ladder.py", "import time"),
    "runner-io": ("prober/runner/wave.py", "import httpx"),
    "lab-blind": ("prober/lab/settings.py", "import prober.prompt.keyring"),
    "httpx-home": ("prober/report/console.py", "import httpx"),
    "sqlalchemy-home": ("prober/config/loader.py", "import sqlalchemy"),
    "prometheus-home": ("prober/store/ledger.py", "import prometheus_client"),
    "detectors-independent": (
        "prober/detect/detectors/usage.py",
        "import prober.detect.detectors.protocol",
    ),
    "scenarios-independent": (
        "prober/plan/scenarios/limit_sweep.py",
        "import prober.plan.scenarios.baseline",
    ),
    "dialects-independent": (
        "prober/endpoint/dialects/openai_chat.py",
        "import prober.endpoint.dialects.workers_ai",
    ),
}


def lint(folder: pathlib.Path, contract: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run import-linter in a folder, without its cache."""
    chosen = ["--contract", contract] if contract else []
    command = [str(pathlib.Path(sys.executable).with_name("lint-imports")), "--no-cache", *chosen]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def copy(tmp_path: pathlib.Path) -> pathlib.Path:
    """Give a copy of the package that may be broken."""
    shutil.copytree(ROOT / "prober", tmp_path / "prober", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_contract_has_a_seeded_breach():
    """A contract that was never seen to fail proves nothing, so each has its breach here."""
    assert {contract["id"] for contract in CONTRACTS} == set(BREACHES)


@pytest.mark.parametrize("contract", BREACHES)
def test_a_seeded_breach_is_reported(contract: str, copy: pathlib.Path):
    """Import-linter reports a breach of each contract, and no breach before it was seeded."""
    place, breach = BREACHES[contract]
    assert lint(copy, contract).returncode == 0

    source = copy / place
    source.write_text(f"{source.read_text()}\n{breach}\n")
    broken = lint(copy, contract)

    assert broken.returncode == 1
    assert "BROKEN" in broken.stdout
