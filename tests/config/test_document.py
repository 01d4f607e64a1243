"""YAML with places."""

import contextlib
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from prober.config.document import SyntaxProblemError, parse
from prober.config.problems import TOP, Mark


def test_scalars_follow_yaml_1_2():
    """Numbers, flags and nulls as YAML 1.2 has them; what 1.1 would turn into something else stays text."""
    document = parse(
        "a: 1_048_576\nb: 010\nc: 0x1F\nd: 0o17\ne: 1e3\nf: -.5\ng: .inf\nh: ~\ni: null\nj: True\nk: no\n"
        "l: '5'\nm: 2001-01-01\nn: -7\no: 0b11\np: plain words\nq: !!str 5\nr: !!int words\n"
    )
    assert document.content == {
        "a": 1048576, "b": 10, "c": 31, "d": 15, "e": 1000.0, "f": -0.5, "g": float("inf"), "h": None, "i": None,
        "j": True, "k": "no", "l": "5", "m": "2001-01-01", "n": -7, "o": 3, "p": "plain words", "q": "5", "r": "words",
    }  # fmt: skip


def test_places_are_those_of_keys_and_values():
    """Lines and columns count from 1; what does not stand in the file has the place of what is around it."""
    document = parse("a:\n  - b: 1\n    c: {d: 2}\n")
    assert document.mark_of(("a", 0, "c", "d")) == Mark(line=3, column=12)
    assert document.mark_of_key(("a", 0, "c", "d")) == Mark(line=3, column=9)
    assert document.mark_of(("a", 0, "x", "y")) == Mark(line=2, column=5)
    assert document.mark_of_key(("a", 0)) == Mark(line=2, column=5)
    assert document.mark_of(("z",)) == TOP


def test_merged_keys_stand_where_they_were_written():
    """A problem in a shared mapping points at that mapping's key."""
    document = parse("base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\n")
    assert document.content["use"] == {"x": 1, "y": 3}
    assert document.mark_of(("use", "x")) == Mark(line=1, column=14)
    assert document.mark_of(("use", "y")) == Mark(line=4, column=6)


def test_anchor_may_be_used_again():
    """YAML lets a later anchor replace an earlier one; nothing is printed about it."""
    assert parse("a: &x 1\nb: &x 2\nc: *x\n").content == {"a": 1, "b": 2, "c": 2}


def test_merge_of_itself_is_a_problem():
    """A mapping that merges itself has no end."""
    with pytest.raises(SyntaxProblemError, match="too many merges"):
        parse("a: &a {<<: *a}\n")


def test_keys_that_are_no_scalars_are_a_problem():
    """Such a key has no name a path could show."""
    [problem] = parse("? [a]\n: 1\n").problems
    assert problem.message == "keys must be plain words"


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=8), inner, max_size=3),
    max_leaves=12,
)
TREES = st.dictionaries(st.text(min_size=1, max_size=8), PLAIN, max_size=4)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(text=st.text(max_size=60) | st.text(alphabet="a: -[]{},&*!|>'\"%@`\n\t#?~<", max_size=40))
def test_any_text_is_read_or_refused(text: str):
    """No text crashes the reader: it is a mapping, or a problem with a place."""
    with contextlib.suppress(SyntaxProblemError):
        assert isinstance(parse(text).content, dict)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(tree=TREES)
def test_json_is_yaml(tree: dict[str, object]):
    """Every JSON document of YAML's characters reads as an independent YAML 1.2 reader reads it."""
    out = io.StringIO()
    YAML(typ="safe", pure=True).dump(tree, out)
    assert parse(out.getvalue()).content == YAML(typ="safe", pure=True).load(out.getvalue())


@pytest.mark.parametrize(
    "text",
    [
        "a: *sk-live-1",
        "a: 'sk-live-1",
        'a: "sk-live-1\\q"',
        "a: [sk-live-1\nb: c",
        "&sk-live-1 a: &sk-live-1 b\n- c",
        "&sk-live-1 a: &sk-live-1 b\nc: *sk-live-2",
        "%sk-live-1\na: b",
        "sk-live-1\nsk: live-1: x",
        "a: !<sk-live-1 x",
        "a: |sk-live-1\n x",
        "\x00sk-live-1",
    ],
)
def test_syntax_errors_quote_nothing(text: str):
    """Grammar and place are shown, the file's words are not."""
    with pytest.raises(SyntaxProblemError) as caught:
        parse(text)
    assert "live" not in caught.value.problem.render("f")
    assert caught.value.__suppress_context__
