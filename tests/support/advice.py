"""Writes what reports say about reasons and kinds of fault, from the documents: `python -m tests.support.advice`."""

import json
import re
from pathlib import Path
from typing import Any

from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Reason
from tests.support.markdown import ROOT, document, section

DATA = ROOT / "prober" / "report" / "data" / "advice.json"

PROJECTS = {
    "SGLang": "sgl-project/sglang",
    "vLLM": "vllm-project/vllm",
    "TensorRT-LLM": "NVIDIA/TensorRT-LLM",
    "LMCache": "LMCache/LMCache",
    "Mooncake": "kvcache-ai/Mooncake",
    "llama.cpp": "ggml-org/llama.cpp",
    "Ollama": "ollama/ollama",
    "LiteLLM": "BerriAI/litellm",
    "mlx-lm": "ml-explore/mlx-lm",
    "mlx-vlm": "Blaizzy/mlx-vlm",
    "js-genai": "googleapis/js-genai",
    "redis-py": "redis/redis-py",
    "aibrix": "vllm-project/aibrix",
    "bifrost": "maximhq/bifrost",
    "vllm-gaudi": "vllm-project/vllm-gaudi",
    "semantic-router": "vllm-project/semantic-router",
    "tenstorrent/tt-metal": "tenstorrent/tt-metal",
    "tenstorrent/vllm": "tenstorrent/vllm",
    "xorbitsai/inference": "xorbitsai/inference",
    "upstash/semantic-cache": "upstash/semantic-cache",
    "wso2/api-platform": "wso2/api-platform",
    "smg": "",
    "MEDS_EIC_AR": "",
}
"""A project as docs/fault-kinds.md calls it -> its repository; empty: named without a link."""

_NAMES = "|".join(re.escape(name) for name in sorted(PROJECTS, key=len, reverse=True))
_SOURCE = re.compile(
    rf"(?:(?P<project>(?<![\w/-])(?:{_NAMES})) )?#(?P<number>\d+)|(?P<cve>CVE-\d{{4}}-\d+)"
    r"|(?P<ghsa>GHSA(?:-\w{4}){3})|arXiv (?P<arxiv>\d{4}\.\d{4,5})"
)
_PROJECT = re.compile(r"([A-Za-z][\w./-]*) #\d+")
_PROSE = frozenset({"fixes", "fix", "and"})


def plain(text: str) -> str:
    """Markdown as one line of plain words."""
    linked = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))
    return linked.replace("`", "").replace("**", "")


def of_reasons() -> dict[str, Any]:
    """Meaning and first step of each reason, as docs/reasons.md has them."""
    text = document("docs/reasons.md")
    return {reason.value: _of_reason(section(text, f"### `{reason.value}`")) for reason in Reason}


def _of_reason(part: str) -> dict[str, str]:
    outcomes, _, rest = part.strip().partition("\n")
    assert outcomes.startswith("Outcomes: "), part
    meaning, _, first = rest.partition("\nFirst: ")
    return {"meaning": plain(meaning), "first": plain(first)}


def of_kinds() -> dict[str, Any]:
    """Mechanism, likenesses and public sources of each kind of fault, as docs/fault-kinds.md has them."""
    text = document("docs/fault-kinds.md")
    return {kind.value: _of_kind(section(text, f"## {kind.value}: {kind.title}")) for kind in FaultKind}


def _of_kind(part: str) -> dict[str, Any]:
    mechanism, _, listed = part.strip().partition("\n- **")
    parts = dict(re.findall(r"- \*\*([^*]+)\*\*: (.+?)(?=\n- \*\*|\Z)", "- **" + listed, re.DOTALL))
    return {
        "mechanism": plain(mechanism),
        "not_to_be_taken_for": plain(parts["Not to be taken for"]),
        "sources": sources(" ".join(parts["Sources"].split())),
    }


def sources(text: str) -> list[dict[str, str]]:
    """Names and addresses of the public reports that a text names, in its order."""
    unknown = {name for name in _PROJECT.findall(text) if name not in PROJECTS} - _PROSE
    assert not unknown, f"name the repositories of {unknown} in tests/support/advice.py"
    found, project = [], ""
    for match in _SOURCE.finditer(text):
        project = match["project"] or project
        found.append(_source(match, project))
    return found


def _source(match: re.Match[str], project: str) -> dict[str, str]:
    if match["cve"]:
        return {"name": match["cve"], "url": f"https://www.cve.org/CVERecord?id={match['cve']}"}
    if match["ghsa"]:
        return {"name": match["ghsa"], "url": f"https://github.com/advisories/{match['ghsa']}"}
    if match["arxiv"]:
        return {"name": f"arXiv {match['arxiv']}", "url": f"https://arxiv.org/abs/{match['arxiv']}"}
    repository = PROJECTS[project]
    url = f"https://github.com/{repository}/issues/{match['number']}" if repository else ""
    return {"name": f"{project} #{match['number']}", "url": url}


def text() -> str:
    """The file as it should be."""
    return json.dumps({"reasons": of_reasons(), "kinds": of_kinds()}, indent=1, ensure_ascii=False) + "\n"


def write(path: Path = DATA) -> None:
    """Write it."""
    path.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    write()
