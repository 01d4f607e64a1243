"""Compose a prompt: attributable filler, needles, inner instructions and a question, at an exact token count."""

import hashlib
from collections.abc import Callable, Iterator

from prober.domain.canary import Canary
from prober.domain.probe import PromptSpec, SharedPlace
from prober.domain.prompt import Needle, NeedlePosition, Prompt
from prober.domain.target import TextForm
from prober.prompt import numbered_lines, word_stream
from prober.prompt.asking import ASKINGS, FIRST_LINE_WORDS
from prober.prompt.keyed_words import keyed_words
from prober.prompt.keyring import Keyring
from prober.prompt.needles import needles_for, sentence
from prober.prompt.sizing import Structure, predict, structure_of
from prober.prompt.tokens import TOLERANCE_TOKENS, Calibration
from prober.prompt.wording import INSTRUCTION_LINE, first_line, pad_line

_INSTRUCTION = INSTRUCTION_LINE.encode("ascii")
_ITEMS_PER_LINE = {TextForm.WORD_STREAM: word_stream.WORDS_PER_LINE, TextForm.NUMBERED_LINES: 1}


def compose(spec: PromptSpec, canary: Canary, keyring: Keyring, calibration: Calibration | None) -> Prompt:
    """Compose the text of one probe; the same arguments give the same text.

    Layout, every line newline-terminated: first line, HEAD needle, filler sections with an instruction line between
    any two and the MIDDLE needle halfway, pad line, END needle, closing question; short questions tell the END needle
    only. Shared text stands before the first line, or halfway in the filler (before the MIDDLE needle): the first lines
    of one stream for all prompts of one form that name the same source, and in no other filler of that source's.

    With `spec.tokens`, the count is exact where the calibration is, and within `token_tolerance` elsewhere. With
    `spec.rewrite_of`, `canary` must be the same; the rest of the spec, and the calibration of a sized prompt, must be
    those of the earlier text, for only its pad words then differ: none at all where `spec.is_replay`.

    Raises:
        ValueError: The spec cannot be met (see `sizing.structure_of`), or `rewrite_of` names another canary.
        KeyringError: The epoch of the canary, or of the shared text's source, is not on the keyring.
    """
    if spec.rewrite_of not in {None, canary}:
        raise ValueError(f"a rewrite of {spec.rewrite_of} cannot carry the canary {canary}")
    structure = structure_of(spec, calibration)
    asking = ASKINGS[spec.ask]
    needles = needles_for(keyring, canary, asking.told, asking.phrase_words)
    digest = hashlib.sha256()
    pieces = _pieces(spec, structure, canary, keyring, {needle.position: needle for needle in needles})
    text = "".join(_taken(pieces, digest.update))
    return Prompt(
        canary=canary,
        text=text,
        needles=needles[-asking.asked :],
        filler_words=structure.filler_lines * _ITEMS_PER_LINE[spec.form],
        planned_tokens=None if calibration is None else predict(spec, calibration),
        token_tolerance=TOLERANCE_TOKENS if calibration is None else calibration.tolerance(structure.filler_lines),
        text_sha256=digest.hexdigest(),
    )


def section_sizes(structure: Structure) -> list[int]:
    """Filler lines of each own section: as even as can be, so that the last one always holds the 30 words asked for."""
    sections = structure.instruction_lines + 1
    least, longer = divmod(structure.own_lines, sections)
    return [least + (index < longer) for index in range(sections)]


def _taken(pieces: list[bytes], on_piece: Callable[[bytes], None]) -> Iterator[str]:
    """Text of the pieces in order, which are used up.

    A million words are 5 MB, and at most two copies live at a time: a piece's bytes go once its text is there.
    """
    pieces.reverse()
    while pieces:
        piece = pieces.pop()
        on_piece(piece)
        yield piece.decode("ascii")


def _pieces(
    spec: PromptSpec, structure: Structure, canary: Canary, keyring: Keyring, needles: dict[NeedlePosition, Needle]
) -> list[bytes]:
    asking = ASKINGS[spec.ask]
    told = {position: sentence(needle).encode("ascii") for position, needle in needles.items()}
    middle = [told.get(NeedlePosition.MIDDLE, b"")]
    pieces = [
        first_line(keyed_words(keyring, canary, "first line", FIRST_LINE_WORDS)).encode("ascii"),
        told.get(NeedlePosition.HEAD, b""),
    ]
    if spec.shared is not None:
        sections, rest = divmod(spec.shared.lines, word_stream.SECTION_LINES)
        sizes = [word_stream.SECTION_LINES] * sections + [rest] * (rest > 0)
        shared = _filler(spec.form, spec.shared.source or canary, keyring, sizes, is_shared=True)
        if spec.shared.place is SharedPlace.PREFIX:
            pieces[:0] = shared
        else:
            middle[:0] = shared
    own = _filler(spec.form, canary, keyring, section_sizes(structure), is_shared=False)
    pieces += _body(own, middle)
    pieces += [
        pad_line(structure.pad_words).encode("ascii"),
        told[NeedlePosition.END] * asking.end_repeats,
        asking.question().encode("ascii"),
    ]
    return pieces


def _filler(form: TextForm, canary: Canary, keyring: Keyring, sizes: list[int], *, is_shared: bool) -> list[bytes]:
    if form is TextForm.NUMBERED_LINES:
        return numbered_lines.sections(keyring, canary, sizes, is_shared=is_shared)
    sections = word_stream.sections(keyring, canary, sizes, is_shared=is_shared)
    for index, section in enumerate(sections):
        sections[index] = _indented(section)
    return sections


def _indented(section: bytes) -> bytes:
    """Start each line with a space.

    Alphabet words are one token each behind a space. Without it, of 2,048 words only 935 (DeepSeek), 989 (cl100k) or
    1,225 (o200k) are one token at the start of a line, and lines would differ by a token. The price: a piece of text
    that crosses a line end names its prompt from 59 characters on, one more than within a line.
    """
    return b" " + section[:-1].replace(b"\n", b"\n ") + b"\n"


def _body(sections: list[bytes], middle: list[bytes]) -> list[bytes]:
    """Put instruction lines between the sections, and what stands halfway into the gap (or line break) there."""
    if len(sections) == 1:
        lines = sections[0].splitlines(keepends=True)
        half = len(lines) // 2
        return [b"".join(lines[:half]), *middle, b"".join(lines[half:])]
    pieces: list[bytes] = []
    for index, section in enumerate(sections):
        if index:
            pieces.append(_INSTRUCTION)
        if index == len(sections) // 2:
            pieces += middle
        pieces.append(section)
    return pieces
