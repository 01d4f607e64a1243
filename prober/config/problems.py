"""What is wrong with a configuration file, said with its place and without any of its values."""

import dataclasses
from collections.abc import Sequence

from prober.domain.errors import ConfigError

Location = tuple[str | int, ...]
"""Keys and list indices from the top of the document."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Mark:
    """A place in the file; both figures count from 1."""

    line: int
    column: int


TOP = Mark(line=1, column=1)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing to change. `message` is in our own words and never quotes a value."""

    mark: Mark
    location: Location
    message: str

    def render(self, file: str) -> str:
        """`file:line:column: dotted.path: message`; the path is left out where it would be empty."""
        path = dotted(self.location)
        return ": ".join(part for part in (f"{file}:{self.mark.line}:{self.mark.column}", path, self.message) if part)


class InvalidConfigError(ConfigError):
    """A configuration file with all its problems, in the file's order."""

    def __init__(self, file: str, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.mark))
        super().__init__("\n".join(problem.render(file) for problem in self.problems))


def dotted(location: Location) -> str:
    """Render `("targets", "glm", "tenants", 0, "name")` as `targets.glm.tenants[0].name`."""
    path = ""
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else step
    return path
