"""Compose a prompt: attributable filler, three needles, inner instructions and a question, at an exact token count."""

from prober.domain.canary import Canary
from prober.domain.probe import PromptSpec
from prober.domain.prompt import Needle, NeedlePosition, Prompt
from prober.domain.target import Ask, TextForm
from prober.prompt import numbered_lines, word_stream
from prober.prompt.keyed_words import keyed_words
from prober.prompt.keyring import Keyring
from prober.prompt.needles import needles_for, sentence
from prober.prompt.sizing import Structure, predict, structure_of
from prober.prompt.tokens import TOLERANCE_TOKENS, Calibration
from prober.prompt.wording import INSTRUCTION_LINE, closing_question, first_line, pad_line, repeat_question

_FIRST_LINE_WORDS = 6
"""66 keyed bits from the second token on: no two prompts share a prefix that a cache could reuse."""

_END_REPEATS = 3
"""A 135M LLM recalls the phrase of its 550-token prompt in 10 of 10 when it stands three times, once in 9 of 12."""

_INSTRUCTION = INSTRUCTION_LINE.encode("ascii")


def compose(spec: PromptSpec, canary: Canary, keyring: Keyring, calibration: Calibration | None) -> Prompt:
    """Compose the text of one probe; the same arguments give the same text.

    Layout, every line newline-terminated: first line, HEAD needle, filler sections with an instruction line between
    any two and the MIDDLE needle halfway, pad line, END needle, closing question. Only needles that are asked for are
    told. With `spec.tokens`, the count is
    exact where the calibration is, and within `token_tolerance` elsewhere. With `spec.rewrite_of`, `canary` must be
    the same; size and calibration must be those of the earlier text, for only its pad words then differ.

    Raises:
        ValueError: The spec cannot be met (see `sizing.structure_of`), or `rewrite_of` names another canary.
        KeyringError: The canary's epoch is not on the keyring.
    """
    if spec.rewrite_of not in {None, canary}:
        raise ValueError(f"a rewrite of {spec.rewrite_of} cannot carry the canary {canary}")
    structure = structure_of(spec, calibration)
    needles = needles_for(keyring, canary, tuple(NeedlePosition))
    return Prompt(
        canary=canary,
        text=_text(spec, structure, canary, keyring, needles),
        needles=needles if spec.ask is Ask.PHRASES_AND_COPY else needles[-1:],
        filler_words=structure.filler_lines * _ITEMS_PER_LINE[spec.form],
        planned_tokens=None if spec.tokens is None or calibration is None else predict(spec, calibration),
        token_tolerance=TOLERANCE_TOKENS if calibration is None else calibration.tolerance(structure.filler_lines),
    )


_ITEMS_PER_LINE = {TextForm.WORD_STREAM: word_stream.WORDS_PER_LINE, TextForm.NUMBERED_LINES: 1}


def section_sizes(structure: Structure) -> list[int]:
    """Filler lines of each section: as even as can be, so that the last one always holds the 30 words asked for."""
    sections = structure.instruction_lines + 1
    least, longer = divmod(structure.filler_lines, sections)
    return [least + (index < longer) for index in range(sections)]


def _text(spec: PromptSpec, structure: Structure, canary: Canary, keyring: Keyring, needles: tuple[Needle, ...]) -> str:
    head, middle, end = (sentence(needle).encode("ascii") for needle in needles)
    opening = first_line(keyed_words(keyring, canary, "first line", _FIRST_LINE_WORDS)).encode("ascii")
    if spec.ask is Ask.PHRASES_AND_COPY:
        question = closing_question([needle.noun for needle in needles]).encode("ascii")
    else:
        end *= _END_REPEATS
        question = repeat_question(needles[-1].noun).encode("ascii")
    pieces = [opening, head]
    pieces += _body(_filler(spec.form, structure, canary, keyring), middle)
    pieces += [pad_line(structure.pad_words).encode("ascii"), end, question]
    # A million words are 5 MB, and at most two copies live at a time: a piece's bytes go once its text is there.
    pieces.reverse()
    return "".join(pieces.pop().decode("ascii") for _ in range(len(pieces)))


def _filler(form: TextForm, structure: Structure, canary: Canary, keyring: Keyring) -> list[bytes]:
    sizes = section_sizes(structure)
    if form is TextForm.NUMBERED_LINES:
        return numbered_lines.sections(keyring, canary, sizes)
    sections = word_stream.sections(keyring, canary, sizes)
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


def _body(sections: list[bytes], middle: bytes) -> list[bytes]:
    """Put instruction lines between the sections, and the MIDDLE needle into the gap (or line break) halfway."""
    if len(sections) == 1:
        lines = sections[0].splitlines(keepends=True)
        half = len(lines) // 2
        return [b"".join(lines[:half]), middle, b"".join(lines[half:])]
    pieces: list[bytes] = []
    for index, section in enumerate(sections):
        if index:
            pieces.append(_INSTRUCTION)
        if index == len(sections) // 2:
            pieces.append(middle)
        pieces.append(section)
    return pieces
