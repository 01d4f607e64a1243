"""Reading requests."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.lab.surfaces.asking import Asked, ask_chat, ask_prompt
from prober.lab.surfaces.fields import RequestError, parse_object

USER = [{"role": "user", "content": "x"}]


def ask(fields: dict[str, Any]) -> Asked:
    return ask_chat({"messages": USER, **fields}, model="m", default_max_tokens=7)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"messages": None}, "messages: must be a list"),
        ({"messages": []}, "messages: must be a list"),
        ({"messages": "x"}, "messages: must be a list"),
        ({"messages": ["x"]}, r"messages\[0\]: must be an object"),
        ({"messages": [*USER, {"role": "king", "content": "x"}]}, r"messages\[1\].role: must be one of"),
        ({"messages": [{"role": ["user"], "content": "x"}]}, r"messages\[0\].role: must be one of"),
        ({"messages": [{"role": "user"}]}, r"messages\[0\].content: must be a string"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "only text parts"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "only text parts"),
        ({"messages": [{"role": "user", "content": "\ud800"}]}, "lone surrogate"),
        ({"model": 3}, "model: must be a string"),
        ({"model": "\udfff"}, "model: holds a lone surrogate"),
        ({"max_tokens": 0}, "max_tokens: must be a positive integer"),
        ({"max_tokens": True}, "max_tokens: must be a positive integer"),
        ({"max_tokens": 1.5}, "max_tokens: must be a positive integer"),
        ({"max_completion_tokens": "8"}, "max_completion_tokens: must be a positive integer"),
        ({"temperature": 2.1}, "temperature: must be"),
        ({"temperature": "hot"}, "temperature: must be"),
        ({"temperature": True}, "temperature: must be"),
        ({"temperature": float("nan")}, "temperature: must be"),
        ({"stream": "yes"}, "stream: must be true or false"),
        ({"stream": True, "stream_options": []}, "stream_options: must be an object"),
        ({"stream": True, "stream_options": {"include_usage": 1}}, "include_usage: must be"),
        ({"options": {"rejectIfBusy": 1}}, "rejectIfBusy: must be"),
    ],
)
def test_wrong_fields_are_refused_by_name(fields: dict[str, Any], message: str):
    """Each wrong field is named in the refusal."""
    with pytest.raises(RequestError, match=message):
        ask(fields)


@pytest.mark.parametrize("prompt", [None, 3, [], ["a", "b"], [1]])
def test_prompts_that_are_no_string_are_refused(prompt: object):
    """Batches of prompts and token ids are not served."""
    with pytest.raises(RequestError, match="prompt: must be a string"):
        ask_prompt({"prompt": prompt}, model="m", default_max_tokens=7)


def test_defaults_fill_what_was_not_sent():
    """Nulls count as absent; sizes, temperature and flags have the server's defaults."""
    asked = ask({"max_tokens": None, "temperature": None, "stream": None, "stream_options": None, "extra": [1]})
    assert (asked.model, asked.max_tokens, asked.sampling.temperature) == ("m", 7, 1.0)
    assert not asked.is_stream
    assert not asked.wants_usage
    assert not asked.rejects_if_busy


def test_usage_is_wanted_of_streams_only():
    """`include_usage` without `stream` asks for nothing."""
    options = {"stream_options": {"include_usage": True}}
    assert ask({"stream": True, **options}).wants_usage
    assert not ask({"stream": False, **options}).wants_usage


def test_newer_name_of_the_output_bound_wins():
    """`max_completion_tokens` replaces the deprecated `max_tokens`."""
    assert ask({"max_tokens": 5, "max_completion_tokens": 6}).max_tokens == 6


def test_list_of_one_prompt_is_that_prompt():
    """A batch of one is served like a string."""
    asked = ask_prompt({"prompt": ["x"]}, model="m", default_max_tokens=7)
    assert asked.messages == (("user", "x"),)


def test_text_beyond_ascii_is_kept():
    """Whole characters of any script pass."""
    assert ask({"messages": [{"role": "user", "content": "漢 😀"}]}).messages == (("user", "漢 😀"),)


def test_repr_shows_no_text():
    """A request's text is a customer's data and stays out of logs."""
    assert "secret" not in repr(ask({"messages": [{"role": "user", "content": "secret"}]}))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.dictionaries(
    st.sampled_from(
        ["messages", "prompt", "model", "max_tokens", "temperature", "stream", "stream_options", "options", "x"]
    ),
    JSON_VALUES,
)


@pytest.mark.no_coverage
@settings(max_examples=150, deadline=None, derandomize=True)
@given(fields=FIELDS)
def test_any_json_is_understood_or_refused(fields: dict[str, Any]):
    """No request makes the front door crash: it is read, or refused with a reason."""
    for read in (ask_chat, ask_prompt):
        try:
            asked = read(parse_object(json.dumps(fields).encode()), model="m", default_max_tokens=7)
        except RequestError:
            continue
        assert asked.max_tokens >= 1
