"""Every YAML file of the deployment is plain: one indentation, no key twice, no `yes` that is a boolean."""

import subprocess
import sys
from pathlib import Path

from tests.support.monitoring import ROOT

RULES = """
extends: default
rules:
  line-length: disable
  document-start: disable
  comments: {min-spaces-from-content: 1}
  braces: {max-spaces-inside: 1}
  indentation: {indent-sequences: whatever}
  truthy: {check-keys: false}
"""


def test_yamllint_finds_nothing(tmp_path: Path):
    """Helm's templates aside, which are YAML only once they are rendered."""
    settings = tmp_path / "yamllint.yaml"
    settings.write_text(RULES, encoding="utf-8")
    files = [
        path
        for pattern in ("*.yaml", "*.yml")
        for folder in (ROOT / "deploy", ROOT / "tests/deploy")
        for path in folder.rglob(pattern)
        if "templates" not in path.parts
    ]

    done = subprocess.run(
        [str(Path(sys.executable).parent / "yamllint"), "--strict", "-c", str(settings), *map(str, files)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert len(files) >= 15
    assert done.returncode == 0, done.stdout
