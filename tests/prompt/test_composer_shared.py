"""Prompts that share text, and prompts that are sent again."""

import dataclasses
import hashlib
import re
from typing import Any

import pytest

from prober.domain.canary import Canary
from prober.domain.errors import KeyringError
from prober.domain.probe import PromptSpec, SharedPlace, SharedText
from prober.domain.prompt import NeedlePosition
from prober.domain.target import Ask, TextForm
from prober.prompt.asking import ASKINGS
from prober.prompt.composer import compose
from prober.prompt.decoder import scan
from tests.support.canary_text import KEYRING
from tests.support.token_counts import UNIFORM, calibrated, merging_newlines

CANARY = Canary.of(7, 0, 4711)
FORMS = list(TextForm)
CALIBRATIONS = {name: calibrated(TextForm.WORD_STREAM, count) for name, count in UNIFORM.items()}
SOURCE, SHARER = Canary.of(2, 0, 20), Canary.of(5, 0, 50)
PLACES = list(SharedPlace)
SHARERS = [(ask, place) for ask in Ask for place in PLACES]


def sharing(lines: int, place: SharedPlace, source: Canary | None = SOURCE, **spec: Any) -> PromptSpec:  # noqa: ANN401
    return PromptSpec(shared=SharedText(source=source, lines=lines, place=place), **spec)


def block(form: TextForm, lines: int) -> str:
    """The shared text itself: what a prompt of nothing but it begins with."""
    prompt = compose(sharing(lines, SharedPlace.PREFIX, filler_lines=lines + 2, form=form), SHARER, KEYRING, None)
    return prompt.text[: prompt.text.index("Notebook")]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lines", [1, 7, 125, 126, 400])
@pytest.mark.parametrize(("ask", "place"), SHARERS)
def test_shared_text_is_the_same_bytes_in_all_who_name_it(ask: Ask, place: SharedPlace, form: TextForm, lines: int):
    """Whatever else a prompt holds, its shared lines are its source's, in one piece, and count as filler."""
    expected = block(form, lines)
    assert expected.count("\n") == lines
    for canary, source in ((SHARER, SOURCE), (CANARY, SOURCE), (SOURCE, None)):
        spec = sharing(lines, place, source, filler_lines=lines + 6, form=form, ask=ask)
        prompt = compose(spec, canary, KEYRING, None)
        assert prompt.text.count(expected) == 1
        assert prompt.text.startswith(expected) is (place is SharedPlace.PREFIX)
        assert prompt.filler_words == (lines + 6) * (16 if form is TextForm.WORD_STREAM else 1)


@pytest.mark.parametrize("form", FORMS)
def test_fewer_shared_lines_are_the_first_of_more(form: TextForm):
    """A longer block begins with the shorter one, so that prefixes of several lengths can be had."""
    assert block(form, 400).startswith(block(form, 200))
    assert block(form, 200).startswith(block(form, 40))


@pytest.mark.parametrize("form", FORMS)
def test_shared_text_is_in_no_other_filler_of_its_source(form: TextForm):
    """A page of the source's own filler is still foreign to those who share: no window, code or line is common."""
    shared = block(form, 300)
    own = compose(PromptSpec(filler_lines=1_000, form=form), SOURCE, KEYRING, None).text
    assert {window.canary for window in scan(shared, KEYRING)} == {SOURCE} == {w.canary for w in scan(own, KEYRING)}
    if form is TextForm.NUMBERED_LINES:
        pieces = {window.text for window in scan(shared, KEYRING)}
        assert len(pieces) == 16
    else:
        letters = shared.replace(" ", "").replace("\n", "")
        pieces = {letters[at : at + 44] for at in range(0, len(letters) - 43, 4)}
    here = own.replace("-", "") if form is TextForm.NUMBERED_LINES else own.replace(" ", "").replace("\n", "")
    assert not any(piece in here for piece in pieces)


@pytest.mark.parametrize("ask", list(Ask))
def test_shared_text_halfway_stands_between_the_prompts_own_filler(ask: Ask):
    """As many own lines before it as after it, give or take a section, and the last 30 words are the prompt's own."""
    spec = sharing(60, SharedPlace.MIDDLE, filler_lines=360, instruction_lines=2, ask=ask)
    before, _, after = compose(spec, SHARER, KEYRING, None).text.partition(block(TextForm.WORD_STREAM, 60))
    assert [len(re.findall(r"^(?: [a-z]{4}){16}$", part, re.MULTILINE)) for part in (before, after)] == [100, 200]
    asked = ASKINGS[ask].told
    assert ("The orchard phrase" in after) is (NeedlePosition.MIDDLE in asked)
    assert "The orchard phrase" not in before


@pytest.mark.parametrize("name", UNIFORM)
@pytest.mark.parametrize("place", PLACES)
def test_sized_prompts_stay_exact_with_shared_text(name: str, place: SharedPlace):
    """Shared lines count among the filler lines: the server counts the size asked for, from the smallest on."""
    calibration = CALIBRATIONS[name]
    for lines in (1, 130):
        smallest = calibration.smallest_of(Ask.PHRASES_AND_COPY, lines)
        for tokens in (smallest, smallest + 1, 3_333, 30_000):
            prompt = compose(sharing(lines, place, tokens=tokens), SHARER, KEYRING, calibration)
            assert prompt.planned_tokens == tokens == UNIFORM[name](prompt.text)
        with pytest.raises(ValueError, match=f"the smallest prompt here has {smallest}"):
            compose(sharing(lines, place, tokens=smallest - 1), SHARER, KEYRING, calibration)


def test_sharers_differ_right_after_their_common_prefix():
    """What follows shared text is the prompt's own from the second word on, so that a cache can share nothing more."""
    texts = [
        compose(sharing(8, SharedPlace.PREFIX, filler_lines=12), Canary.of(tenant, 0, 9), KEYRING, None).text
        for tenant in (1, 2)
    ]
    first, second = (text.removeprefix(block(TextForm.WORD_STREAM, 8)).split() for text in texts)
    assert first[0] == second[0] == "Notebook"
    assert first[1:4] != second[1:4]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ask", list(Ask))
def test_a_replay_is_the_earlier_text_to_the_byte(ask: Ask, form: TextForm):
    """Sized or by lines, with shared text of its own, calibrated or not: the same canary gives the same bytes again."""
    calibration = calibrated(form, merging_newlines)
    for spec, costs in (
        (PromptSpec(filler_lines=9, form=form, ask=ask), None),
        (PromptSpec(filler_lines=9, form=form, ask=ask), calibration),
        (PromptSpec(tokens=2_000, form=form, ask=ask), calibration),
        (sharing(3, SharedPlace.PREFIX, None, filler_lines=9, form=form, ask=ask), None),
        (sharing(3, SharedPlace.MIDDLE, SOURCE, tokens=2_000, form=form, ask=ask), calibration),
    ):
        first = compose(spec, CANARY, KEYRING, costs)
        replay = dataclasses.replace(spec, rewrite_of=CANARY)
        assert replay.is_replay
        assert compose(replay, CANARY, KEYRING, costs) == first


@pytest.mark.parametrize("form", FORMS)
def test_the_hash_is_that_of_the_text(form: TextForm):
    """SHA-256 of the UTF-8 text, equal for equal texts only."""
    prompts = [compose(PromptSpec(filler_lines=300, form=form), Canary.of(1, 0, n), KEYRING, None) for n in (1, 2)]
    assert [p.text_sha256 for p in prompts] == [hashlib.sha256(p.text.encode()).hexdigest() for p in prompts]
    assert prompts[0].text_sha256 != prompts[1].text_sha256


def test_shared_text_under_an_unknown_epoch_is_refused():
    """A source whose key is gone cannot be written again."""
    with pytest.raises(KeyringError):
        compose(sharing(2, SharedPlace.PREFIX, Canary.of(1, 3, 1), filler_lines=9), CANARY, KEYRING, None)
