"""YAML 1.2 to plain values that know where they stand. Nothing here quotes the file."""

import dataclasses
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, StringMark, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from prober.config.problems import TOP, Location, Mark, Problem

MAX_DEPTH = 20
MAX_NODES = 20_000
"""Counted after aliases are followed, so that a small file cannot unfold into a large one."""

MAX_MERGES = 100

_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


class SyntaxProblemError(Exception):
    """The text cannot be read any further."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.message)


@dataclasses.dataclass(slots=True, kw_only=True)
class Document:
    """Plain values, where they stand, and what was wrong on the way."""

    content: dict[str, Any]
    keys: dict[Location, Mark]
    """Where a mapping's key stands."""
    values: dict[Location, Mark]
    problems: list[Problem]

    def mark_of(self, location: Location) -> Mark:
        """Place of a value, or of the nearest thing around it that stands in the file."""
        for end in range(len(location), -1, -1):
            if (mark := self.values.get(location[:end])) is not None:
                return mark
        return TOP

    def mark_of_key(self, location: Location) -> Mark:
        """Place of a key; of a list's item, the item's own."""
        return self.keys.get(location) or self.mark_of(location)


def parse(text: str) -> Document:
    """Read one YAML document whose top is a mapping.

    Raises:
        SyntaxProblemError: it is no YAML, more than one document, no mapping, too deep or too large.
    """
    try:
        reader = YAML(typ="safe", pure=True)
        # Its warning about an anchor that is used again would quote the file.
        reader.composer.warn_double_anchors = False
        root = reader.compose(text)
    except MarkedYAMLError as error:
        raise SyntaxProblemError(_problem(_mark(error.problem_mark), _in_our_words(error))) from None
    except ReaderError as error:
        raise SyntaxProblemError(_problem(_mark_at(text, error.position), "a character YAML does not allow")) from None
    except (YAMLError, RecursionError):
        raise SyntaxProblemError(_problem(TOP, "this is no YAML, or nested too deeply")) from None
    if not isinstance(root, MappingNode):
        raise SyntaxProblemError(
            _problem(TOP, "a configuration is a mapping; the shortest one starts with `version: 1`")
        )
    return _Builder().document(root)


class _Builder:
    def __init__(self) -> None:
        self.document_so_far = Document(content={}, keys={}, values={}, problems=[])
        self._nodes = 0
        self._merges = 0

    def document(self, root: MappingNode) -> Document:
        self.document_so_far.content = self._mapping(root, ())
        return self.document_so_far

    def _value(self, node: Node, location: Location) -> object:
        self._nodes += 1
        mark = _mark(node.start_mark)
        if len(location) > MAX_DEPTH or self._nodes > MAX_NODES:
            raise SyntaxProblemError(Problem(mark=mark, location=(), message="nested too deeply, or too large"))
        self.document_so_far.values[location] = mark
        if not str(node.tag).startswith(_TAG):
            self._complain(mark, location, "YAML tags are not supported")
            return None
        match node:
            case MappingNode():
                return self._mapping(node, location)
            case SequenceNode():
                return [self._value(item, (*location, index)) for index, item in enumerate(node.value)]
            case _:
                return _scalar(str(node.tag).removeprefix(_TAG), str(node.value))

    def _mapping(self, node: MappingNode, location: Location, taken: AbstractSet[str] = frozenset()) -> dict[str, Any]:
        """Read a mapping; keys in `taken` stand closer to the reader and win."""
        found: dict[str, Any] = {}
        for key, value in _pairs(node):
            mark = _mark(key.start_mark)
            if not isinstance(key, ScalarNode):
                self._complain(mark, location, "keys must be plain words")
            elif key.tag == _MERGE:
                found.update(self._merged(value, location, taken | found.keys()))
            elif key.value in found:
                self._complain(mark, (*location, key.value), "this key stands here twice")
            elif key.value not in taken:
                self.document_so_far.keys[*location, key.value] = mark
                found[key.value] = self._value(value, (*location, key.value))
        return found

    def _merged(self, node: Node, location: Location, taken: AbstractSet[str]) -> dict[str, Any]:
        if not isinstance(node, MappingNode):
            self._complain(_mark(node.start_mark), location, "`<<` takes one mapping")
            return {}
        self._merges += 1
        if self._merges > MAX_MERGES:
            raise SyntaxProblemError(_problem(_mark(node.start_mark), "too many merges, or one of itself"))
        return self._mapping(node, location, taken)

    def _complain(self, mark: Mark, location: Location, message: str) -> None:
        self.document_so_far.problems.append(Problem(mark=mark, location=location, message=message))


def _pairs(node: MappingNode) -> Iterator[tuple[Node, Node]]:
    """Yield own pairs first and merges last: what stands in the mapping itself wins."""
    pairs = list(node.value)
    yield from (pair for pair in pairs if pair[0].tag != _MERGE)
    yield from (pair for pair in pairs if pair[0].tag == _MERGE)


def _scalar(kind: str, text: str) -> object:
    try:
        match kind:
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int":
                return _integer(text)
            case "float":
                return float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))
            case _:
                return text
    except ValueError:
        return text


def _integer(text: str) -> int:
    digits = text.replace("_", "")
    # YAML 1.2 knows no octal by a leading zero.
    return int(digits, 0 if digits.lstrip("+-")[:2].lower() in {"0x", "0o", "0b"} else 10)


def _problem(mark: Mark, message: str) -> Problem:
    return Problem(mark=mark, location=(), message=message)


def _mark(mark: StringMark | None) -> Mark:
    return TOP if mark is None else Mark(line=mark.line + 1, column=mark.column + 1)


def _mark_at(text: str, position: int) -> Mark:
    before = text[:position]
    return Mark(line=before.count("\n") + 1, column=position - (before.rfind("\n") + 1) + 1)


def _in_our_words(error: MarkedYAMLError) -> str:
    """Keep the parser's grammar, drop what it quotes unless that is a token's name or one punctuation mark."""

    def shown(match: re.Match[str]) -> str:
        inner = match[0][1:-1]
        is_harmless = inner.startswith("<") or (len(inner) == 1 and not inner.isalnum())
        return f"'{inner}'" if is_harmless else "'…'"

    problem = error.problem or "cannot be read"
    if r"'\t'" in problem:
        return "syntax: a tab stands where YAML wants spaces; tabs cannot indent"
    if problem.startswith("but ") and error.context:
        problem = f"{error.context}, {problem}"
    return "syntax: " + _QUOTED.sub(shown, problem)
