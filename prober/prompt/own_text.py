"""Which pieces of canary text stand in a probe's own prompt."""

from collections.abc import Set as AbstractSet
from typing import Final

from prober.domain.prompt import Prompt
from prober.prompt.alphabet import WORD_LETTERS
from prober.prompt.keyring import Keyring
from prober.prompt.normalised import letters_of, visible_ascii
from prober.prompt.numbered_lines import grouped
from prober.prompt.stream_code import mixing_table
from prober.prompt.stream_symbols import symbols_of

_FEW: Final = 64


class OwnText:
    """A probe's own prompt, normalised once and only when asked: most answers hold nothing foreign to compare."""

    def __init__(self, own: Prompt, keyring: Keyring) -> None:
        self._own = own
        self._keyring = keyring
        self._letters: bytes | None = None

    def absent(self, pieces: AbstractSet[bytes]) -> set[bytes]:
        """Those of the pieces (letters only, all of one length, seven alphabet words or more) that are not in it."""
        if not pieces:
            return set()
        letters = self._normalised()
        if len(pieces) <= _FEW:
            return {piece for piece in pieces if piece not in letters}
        # One pass over the prompt's words costs less than thousands of searches through megabytes.
        length = len(next(iter(pieces)))
        offsets = symbols_of(letters, mixing_table(self._keyring)).offsets.tolist()
        return set(pieces) - {piece for at in offsets if (piece := letters[at : at + length]) in pieces}

    def without(self, phrases: AbstractSet[bytes]) -> set[bytes]:
        """Those of a few phrases (letters only, of any length) that are not in it."""
        letters = self._normalised()
        return {phrase for phrase in phrases if phrase not in letters}

    def holds_half(self, piece: bytes) -> bool:
        """Whether the first or the last words of a piece (letters only), just less than half of them, stand in it.

        One wrong, missing or added word leaves that much of a copied piece as it was, wherever it hits.
        """
        letters, half = self._normalised(), (len(piece) // WORD_LETTERS - 1) // 2 * WORD_LETTERS
        return piece[:half] in letters or piece[-half:] in letters

    def has_code(self, code: str) -> bool:
        """Whether a line code stands in it, in the form in which lines write it."""
        return "-".join(grouped(code)) in self._own.text

    def _normalised(self) -> bytes:
        if self._letters is None:
            self._letters = letters_of(visible_ascii(self._own.text))
        return self._letters
