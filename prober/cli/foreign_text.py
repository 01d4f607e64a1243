"""Foreign text on a terminal: nothing in it may move the cursor, change the screen, or look like words of ours."""

from collections.abc import Iterator

from prober.report.harmless import harmless


def harmless_lines(text: str, mark: str = "| ") -> Iterator[str]:
    """Lines of a text, each behind a mark that it cannot forge; what is harmful stands there as Python escapes it."""
    for line in text.split("\n"):
        yield mark + harmless(line)
