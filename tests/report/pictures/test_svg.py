"""SVG that no value can break."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.domain.outcome import Outcome
from prober.report.harmless import harmless
from prober.report.pictures.svg import element, legend, line, outcome_class, picture, stylesheet, text

ANY = st.text(st.characters(codec=None), max_size=40).map(harmless)


@given(ANY, ANY)
def test_any_value_and_text_comes_back_as_it_was(value: str, words: str):
    """Whatever a name holds, the picture is well-formed and says just that."""
    read = ET.fromstring(str(element("g", words, data_x=value)))  # noqa: S314 - our own markup

    assert (read.text or "") == words
    assert read.get("data-x") == value
    assert len(read) == 0


def test_elements_nest_and_text_does_not_become_one():
    """Markup of ours passes, words are escaped."""
    assert str(element("g", text(1.0, 2.5, "<script>"), line(0.0, 0.0, 1.005, 2.0, "grid"))) == (
        '<g><text x="1" y="2.5" class="label">&lt;script&gt;</text>'
        '<line x1="0" y1="0" x2="1" y2="2" class="grid"></line></g>'
    )


@pytest.mark.parametrize("name", ["a b", 'on"x', "", "1a", "a>"])
def test_names_are_ours(name: str):
    """An element or attribute of another name is a mistake of ours."""
    with pytest.raises(ValueError, match="no name"):
        element(name)


@pytest.mark.parametrize("ident", ["A", "a b", '"', ""])
def test_ids_are_ours(ident: str):
    """So is an id."""
    with pytest.raises(ValueError, match="no id"):
        picture(ident, "t", "d", 10.0)


def test_a_picture_tells_those_who_do_not_see_it():
    """It is an image with a title and a description (SVG accessibility API mappings)."""
    read = ET.fromstring(str(picture("p", "Title", "What it shows", 100.0)))  # noqa: S314 - likewise

    assert (read.tag, read.get("role"), read.get("aria-labelledby")) == ("svg", "img", "p-title p-desc")
    assert [(child.tag, child.get("id"), child.text) for child in read] == [
        ("title", "p-title", "Title"),
        ("desc", "p-desc", "What it shows"),
    ]


def test_every_outcome_has_its_colour_in_light_and_dark():
    """Classes that pictures use stand in the stylesheet, which loads nothing."""
    style = stylesheet()

    for outcome in (*Outcome, None):
        assert f".{outcome_class(outcome)} " in style
        assert style.count(f"--{outcome_class(outcome)}:") == 2
    assert "prefers-color-scheme: dark" in style
    assert "url(" not in style
    assert "@import" not in style


def test_colour_is_never_alone():
    """A legend names each outcome in words."""
    assert all(outcome.value in str(legend(0.0, 0.0, *Outcome)) for outcome in Outcome)
