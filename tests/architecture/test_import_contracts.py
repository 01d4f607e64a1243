"""Every import contract holds, and every one is able to fail."""

import contextlib
import pathlib
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence

import pytest

ROOT = pathlib.Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
CLOCKS_AND_RANDOMNESS = ("time", "random", "secrets", "uuid")
MACHINE = ("os", "pathlib", "socket", "logging")

BREACHES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "layers": {
        "prober/domain/tenant.py": ["prober.runner.ports"],
        "prober/stats/bounds.py": ["prober.detect.verdict"],
        "prober/plan/aim.py": ["prober.detect.ladder"],
        "prober/runner/book.py": ["prober.store.ledger"],
        "prober/store/ledger.py": ["prober.telemetry.metrics"],
        "prober/report/console.py": ["prober.config.schema"],
        "prober/wiring/prober.py": ["prober.cli.exits"],
    },
    "acyclic": {"prober/domain/outcome.py": ["prober.domain.finding"]},
    "pure": {
        "prober/domain/tenant.py": CLOCKS_AND_RANDOMNESS,
        "prober/prompt/reading.py": ("structlog", *MACHINE),
        "prober/stats/cusum.py": CLOCKS_AND_RANDOMNESS,
        "prober/plan/confirm.py": ("asyncio", "urllib", *MACHINE),
        "prober/detect/ladder.py": ("httpx", "sqlalchemy", *CLOCKS_AND_RANDOMNESS),
    },
    "runner-io": {
        "prober/runner/wave.py": ("httpx", "sqlalchemy", "structlog", *MACHINE),
        "prober/runner/run.py": CLOCKS_AND_RANDOMNESS,
    },
    "lab-blind": {
        "prober/lab/settings.py": ["prober.prompt.keyring", "prober.stats.bounds"],
        "prober/lab/surfaces/app.py": ["prober.detect.ladder", "prober.plan.scenarios"],
    },
    "httpx-home": {"prober/report/console.py": ["httpx"], "prober/wiring/system.py": ["asyncio_throttle"]},
    "sqlalchemy-home": {"prober/config/loader.py": ["sqlalchemy"], "prober/cli/database.py": ["alembic"]},
    "prometheus-home": {"prober/store/ledger.py": ["prometheus_client"]},
    "apscheduler-home": {"prober/wiring/prober.py": ["apscheduler"]},
    "fastapi-home": {"prober/telemetry/metrics.py": ["fastapi"]},
    "cryptography-home": {"prober/config/keyring_file.py": ["cryptography"]},
    "detectors-independent": {"prober/detect/detectors/usage.py": ["prober.detect.detectors.protocol"]},
    "scenarios-independent": {"prober/plan/scenarios/limit_sweep.py": ["prober.plan.scenarios.baseline"]},
    "dialects-independent": {"prober/endpoint/dialects/openai_chat.py": ["prober.endpoint.dialects.workers_ai"]},
}
"""Contract -> file -> imports that it must not have."""


def lint(folder: pathlib.Path, contract: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run import-linter in a folder, without its cache."""
    chosen = ["--contract", contract] if contract else []
    command = [str(pathlib.Path(sys.executable).with_name("lint-imports")), "--no-cache", *chosen]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Give a copy of the package that may be broken, as long as it is mended again."""
    folder = tmp_path_factory.mktemp("contracts")
    shutil.copytree(ROOT / "prober", folder / "prober", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@contextlib.contextmanager
def seeded(folder: pathlib.Path, breaches: Mapping[str, Sequence[str]]) -> Iterator[None]:
    """Add imports to files; take them out again behind the caller."""
    sources = {folder / place: (folder / place).read_text() for place in breaches}
    try:
        for place, imports in breaches.items():
            (folder / place).write_text(sources[folder / place] + "".join(f"import {name}\n" for name in imports))
        yield
    finally:
        for path, source in sources.items():
            path.write_text(source)


def test_every_contract_has_a_seeded_breach():
    """A contract that was never seen to fail proves nothing, so each has its breach here."""
    assert {contract["id"] for contract in CONTRACTS} == set(BREACHES)


def test_every_contract_holds(copy: pathlib.Path):
    """The package as it stands keeps every contract: what is reported below is the seeded breach alone."""
    kept = lint(copy)

    assert kept.returncode == 0, kept.stdout
    assert f"{len(CONTRACTS)} kept, 0 broken" in kept.stdout


@pytest.mark.parametrize("contract", BREACHES)
def test_a_seeded_breach_is_reported(contract: str, copy: pathlib.Path):
    """Import-linter names every single import that a contract forbids, by its importer."""
    with seeded(copy, BREACHES[contract]):
        broken = lint(copy, contract)

    assert broken.returncode == 1
    assert "BROKEN" in broken.stdout
    for place, imports in BREACHES[contract].items():
        for name in imports:
            assert is_named(place.removesuffix(".py").replace("/", "."), name, broken.stdout), broken.stdout


def is_named(importer: str, imported: str, reported: str) -> bool:
    """Whether a report names an import; cycles are told by names within their package."""
    within = f".{importer.rpartition('.')[2]} -> .{imported.rpartition('.')[2]} "
    return f"{importer} -> {imported}" in reported or within in reported
