"""What live probes were constrained to answer: a free answer that is one of these keeps to another's constraint."""

import collections
from collections.abc import Iterator, Sequence
from typing import Final

from prober.domain.canary import Canary

_AROUND: Final = " \t\r\n\"'"
"""What stands around a choice without being part of it: white space, and the quotes of a JSON string."""


def trimmed(content: str) -> str:
    """Content without white space and quotes around it."""
    return content.strip(_AROUND)


class ChoiceIndex:
    """Choices of live probes."""

    def __init__(self) -> None:
        self._choices: dict[Canary, tuple[str, ...]] = {}
        self._owners: dict[str, set[Canary]] = collections.defaultdict(set)
        self._lengths: collections.Counter[int] = collections.Counter()

    def remember(self, canary: Canary, choices: Sequence[str]) -> None:
        """Hold a probe's choices, instead of any held before; none is held of one that had none."""
        self.forget(canary)
        held = tuple(dict.fromkeys(filter(None, choices)))
        if held:
            self._choices[canary] = held
        for choice in held:
            self._lengths[len(choice)] += 1
            self._owners[choice].add(canary)

    def forget(self, canary: Canary) -> None:
        """Let go of a probe's choices, if any are held."""
        for choice in self._choices.pop(canary, ()):
            self._lengths[len(choice)] -= 1
            self._owners[choice].discard(canary)
            if not self._owners[choice]:
                del self._owners[choice]
        self._lengths += collections.Counter()

    def begun(self, content: str, own: Canary) -> Iterator[str]:
        """Choices of other probes that `content` is, or begins with as whole words; the longest first."""
        for length in sorted(self._lengths, reverse=True):
            piece, after = content[:length], content[length : length + 1]
            owners = self._owners.get(piece, set()) if len(piece) == length else set()
            if owners - {own} and not after.isalnum():
                yield piece
