"""What is shipped: the wheel runs by itself, and neither package carries anything that git ignores."""

import pathlib
import subprocess
import sys
import tarfile
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]
UV = pathlib.Path(sys.executable).with_name("uv")


def build(kind: str, folder: pathlib.Path) -> pathlib.Path:
    """Build one package of the checkout as it stands."""
    command = [str(UV), "build", f"--{kind}", "--python", sys.executable, "--out-dir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    (package,) = folder.glob("isolation_prober-*")
    return package


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory):
    """Open the wheel."""
    with zipfile.ZipFile(build("wheel", tmp_path_factory.mktemp("wheel"))) as opened:
        yield opened


@pytest.fixture(scope="module")
def shipped(wheel: zipfile.ZipFile) -> set[str]:
    """Names in the wheel, its metadata left out."""
    return {name for name in wheel.namelist() if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def source_names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names in the source distribution, without its top folder."""
    with tarfile.open(build("sdist", tmp_path_factory.mktemp("sdist"))) as opened:
        return {name.partition("/")[2] for name in opened.getnames()}


def ignored(names: set[str]) -> set[str]:
    """Names that git ignores."""
    asked = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        cwd=ROOT,
        input="\n".join(sorted(names)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    # 0: some are ignored, 1: none is; anything else is git's own failure.
    assert asked.returncode in {0, 1}, asked.stderr
    return set(asked.stdout.split("\n")) - {""}


def checkout(top: str) -> set[str]:
    """Files of a folder that git does not ignore."""
    names = {path.relative_to(ROOT).as_posix() for path in (ROOT / top).rglob("*") if path.is_file()}
    return names - ignored(names)


def test_the_wheel_holds_the_whole_product(shipped: set[str]):
    """Every file of prober/ and of migrations/ is in the wheel, and nothing else: data files and type marker too."""
    migrations = {name.replace("migrations/", "prober/_migrations/", 1) for name in checkout("migrations")}

    assert shipped == checkout("prober") | migrations
    assert {"prober/py.typed", "prober/config/example.yaml", "prober/_migrations/env.py"} <= shipped
    assert {"prober/prompt/data/filler_words_2048.json", "prober/prompt/data/base_rates.json"} <= shipped


def test_the_wheel_carries_its_licences_and_its_command(wheel: zipfile.ZipFile):
    """Licence, notice of the word lists and the `prober` command come with the wheel."""
    (folder,) = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    names = set(wheel.namelist())

    assert {f"{folder}/licenses/LICENSE", f"{folder}/licenses/prober/prompt/data/NOTICE"} <= names
    assert "prober = prober.cli:main" in wheel.read(f"{folder}/entry_points.txt").decode()


def test_the_wheel_works_without_the_checkout(wheel: zipfile.ZipFile, tmp_path: pathlib.Path):
    """Unpacked anywhere, it reads its word lists and brings a new database to the schema by its own migrations."""
    wheel.extractall(tmp_path / "site")  # noqa: S202 - just built, from our own files
    program = f"""
import asyncio, prober
from prober.prompt.alphabet import WORDS
from prober.store.migrate import is_current, upgrade
url = "sqlite+aiosqlite:///{tmp_path}/ledger.db"
asyncio.run(upgrade(url))
assert asyncio.run(is_current(url)) and len(WORDS) == 2048
print(prober.__file__)
"""

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "site" / "prober" / "__init__.py")


def test_the_source_distribution_can_be_tested(source_names: set[str]):
    """It holds product, migrations, tests and documents, and nothing that git ignores."""
    wanted = checkout("prober") | checkout("migrations") | checkout("tests") | checkout("docs")

    assert wanted - source_names == set()
    assert ignored(source_names) == set()
    assert {"README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml"} <= source_names
