"""What stands in the own prompt."""

import dataclasses

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
