"""`${NAME}` and `${NAME:-default}` in values, from an environment that is handed in."""

import re
from collections.abc import Mapping
from typing import Any

from prober.config.document import Document
from prober.config.problems import Location, Problem

_REFERENCE = re.compile(
    r"\$(?:(?P<escaped>\$)|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<has_default>:-(?P<default>[^}]*))?\}|(?P<bad>\{))"
)
_SHOWN_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")


class Substitution:
    """One pass over one document."""

    def __init__(self, document: Document, environment: Mapping[str, str]) -> None:
        self._document = document
        self._environment = environment
        self.problems: list[Problem] = []
        """What could not be filled in."""
        self.literals: set[Location] = set()
        """Strings that stand in the file as they are, without any reference."""

    def apply(self) -> dict[str, Any]:
        """Return the document's content with all references replaced; `$$` is a dollar sign."""
        return {key: self._value(value, (key,)) for key, value in self._document.content.items()}

    def _value(self, value: object, location: Location) -> object:
        match value:
            case dict():
                return {key: self._value(inner, (*location, key)) for key, inner in value.items()}
            case list():
                return [self._value(inner, (*location, index)) for index, inner in enumerate(value)]
            case str():
                return self._text(value, location)
            case _:
                return value

    def _text(self, text: str, location: Location) -> str:
        if "${" not in text:
            self.literals.add(location)
        return _REFERENCE.sub(lambda match: self._replacement(match, location), text)

    def _replacement(self, match: re.Match[str], location: Location) -> str:
        if match["escaped"]:
            return "$"
        if match["bad"]:
            self._complain(location, "a reference is written ${NAME} or ${NAME:-default}; write $$ for a dollar sign")
            return ""
        found = self._environment.get(match["name"])
        if match["has_default"] and not found:
            return match["default"]
        if found is None:
            # A credential pasted between the braces would otherwise be printed as a name.
            name = match["name"] if _SHOWN_NAME.fullmatch(match["name"]) else "named here"
            self._complain(location, f"the environment variable {name} is not set")
            return ""
        return found

    def _complain(self, location: Location, message: str) -> None:
        self.problems.append(Problem(mark=self._document.mark_of(location), location=location, message=message))
