"""Reads our own Markdown: tables, sections, links, commands."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
_CODE = re.compile(r"`([^`]+)`")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def document(name: str) -> str:
    """Text of a document, named from the project's root."""
    return (ROOT / name).read_text(encoding="utf-8")


def pages() -> list[str]:
    """Every Markdown document of the project, named from its root."""
    top = ROOT.glob("*.md")
    return sorted(str(path.relative_to(ROOT)) for path in (*top, *(ROOT / "docs").rglob("*.md")))


def section(text: str, heading: str) -> str:
    """What stands under a heading, up to the next one of its level or above."""
    level = len(heading) - len(heading.lstrip("#"))
    _, found, rest = f"\n{text}".partition(f"\n{heading}\n")
    assert found, f"no heading {heading!r}"
    return re.split(rf"^#{{1,{level}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """Cells of all table rows, heading rows and rules left out."""
    found: list[list[str]] = []
    is_body = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|"):
            is_body = False
        elif set(line) <= set("|-: "):
            is_body = True
        elif is_body:
            found.append(cells)
    return found


def codes(text: str) -> list[str]:
    """What stands in back-ticks, fenced blocks left out."""
    return _CODE.findall(_FENCE.sub("", text))


def links(text: str) -> list[str]:
    """Targets of links to places of our own."""
    return [target for target in _LINK.findall(_FENCE.sub("", text)) if "://" not in target]


def anchors(text: str) -> set[str]:
    """Anchors that GitHub gives the headings."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def outcomes_of_reasons(text: str) -> dict[str, set[str]]:
    """Outcomes that docs/reasons.md gives each reason."""
    found = re.findall(r"^### `(\w+)`\n\nOutcomes: ([A-Z, ]+)\.$", text, re.MULTILINE)
    return {reason: set(outcomes.split(", ")) for reason, outcomes in found}
