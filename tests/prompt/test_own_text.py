"""What stands in the own prompt."""

import dataclasses

import pytest

from prober.domain.canary import Canary
from prober.prompt.line_code import codes
from prober.prompt.own_text import OwnText
from tests.support.canary_text import KEYRING, filler, prompt_of

OWN = prompt_of(Canary.of(1, 0, 1), 60)
LETTERS = OWN.text.replace(" ", "").replace("\n", "").encode("ascii")
FOREIGN = filler(Canary.of(2, 0, 2), [60]).replace(" ", "").replace("\n", "").encode("ascii")


def pieces(letters: bytes, count: int) -> set[bytes]:
    return {letters[4 * i : 4 * i + 44] for i in range(count)}


def test_few_and_many_pieces_are_judged_alike():
    """Whether searched one by one or in one pass, exactly the foreign pieces are absent."""
    own_text = OwnText(OWN, KEYRING)
    for count in (1, 30, 300):
        assert own_text.absent(pieces(LETTERS, count) | pieces(FOREIGN, count)) == pieces(FOREIGN, count)
    assert own_text.absent(set()) == set()


def test_codes_are_sought_as_lines_write_them():
    """A code counts as own only where it stands whole."""
    code = codes(KEYRING, Canary.of(3, 0, 3))[0]
    with_code = dataclasses.replace(OWN, text=f"[ref {code[:4]}-{code[4:8]}-{code[8:12]}-{code[12:]}]")
    assert OwnText(with_code, KEYRING).has_code(code)
    assert not OwnText(OWN, KEYRING).has_code(code)


def test_phrases_are_sought_one_by_one():
    """Of phrases of any length exactly those that stand in no place of the prompt are foreign."""
    own_text = OwnText(OWN, KEYRING)
    assert own_text.without({LETTERS[40:52], LETTERS[81:105], FOREIGN[:12], b"zzzz" * 6}) == {FOREIGN[:12], b"zzzz" * 6}


@pytest.mark.parametrize("words", [7, 11])
def test_half_a_piece_is_recognised_around_any_one_fault(words: int):
    """A copied piece with one word wrong, wherever it stands, is known by a half; another prompt's piece is not."""
    own_text = OwnText(OWN, KEYRING)
    for at in range(words):
        piece = bytearray(LETTERS[80 : 80 + 4 * words])
        piece[4 * at : 4 * at + 4] = b"zzzz"
        assert own_text.holds_half(bytes(piece))
    assert not own_text.holds_half(FOREIGN[80 : 80 + 4 * words])
