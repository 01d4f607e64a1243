"""What requests ask of sampling."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.lab.surfaces.fields import RequestError
from prober.lab.surfaces.sampling import NO_GRAMMAR, VOCABULARY, Sampling, read_sampling


def schema(**fields: object) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "choice", "schema": fields}}


def test_nothing_asked_is_free_sampling():
    """Missing and null fields leave every choice to the LLM."""
    names = ("temperature", "top_p", "response_format", "logit_bias", "logprobs")
    assert read_sampling({}) == read_sampling(dict.fromkeys(names)) == Sampling()


def test_sound_fields_are_understood():
    """An enum schema is a choice, a bias of 100 a favoured token; log probabilities are asked for in two ways."""
    sampling = read_sampling(
        {
            "temperature": 0.5,
            "top_p": 1,
            "response_format": schema(type="string", enum=["yes", "no"]),
            "logit_bias": {"7": -100, "42": 100, "9": 5.5},
            "logprobs": True,
        }
    )
    assert sampling == Sampling(
        temperature=0.5, choices=("yes", "no"), favoured_token=42, wants_logprobs=True, late_error=""
    )
    assert read_sampling({"logprobs": 0}).wants_logprobs
    assert read_sampling({"response_format": {"type": "text"}}) == Sampling()
    assert read_sampling({"logit_bias": {"5": 99}}).favoured_token is None


def test_a_reasoning_budget_is_read_where_vllm_and_where_sglang_look_for_it():
    """In either place, the smaller one where both say something; null is none."""
    assert read_sampling({"thinking_token_budget": 0}) == Sampling(reasoning_budget=0)
    assert read_sampling({"custom_params": {"thinking_budget": 9}}) == Sampling(reasoning_budget=9)
    both = {"thinking_token_budget": 7, "custom_params": {"thinking_budget": 9}}
    assert read_sampling(both).reasoning_budget == 7
    none = {"thinking_token_budget": None, "custom_params": {"thinking_budget": None, "other": "x"}}
    assert read_sampling(none) == Sampling()


@pytest.mark.parametrize("value", [-1, 2.5, True, "9", [9]])
def test_a_budget_that_is_no_count_is_refused(value: object):
    """At the door, by the name of its place."""
    for fields, place in (
        ({"thinking_token_budget": value}, "thinking_token_budget"),
        ({"custom_params": {"thinking_budget": value}}, "custom_params.thinking_budget"),
    ):
        with pytest.raises(RequestError, match=place):
            read_sampling(fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "string", "enum": []},
        {"type": "string", "enum": ["a", 3]},
        {"type": "string", "enum": ["a", ""]},
        {"type": "string", "enum": "ab"},
        {"type": "number", "enum": ["a"]},
        {"type": "no such type"},
        {"type": "string", "pattern": "("},
        {"$ref": "#/nowhere"},
    ],
)
def test_a_schema_that_cannot_be_compiled_passes_the_door(fields: dict[str, object]):
    """The door knows no grammars: such a request looks sound until the scheduler builds its grammar."""
    sampling = read_sampling({"response_format": schema(**fields)})
    assert (sampling.choices, sampling.late_error) == ((), NO_GRAMMAR)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"temperature": 2.1}, "temperature: must be a number between 0 and 2"),
        ({"temperature": 10**400}, "temperature: must be"),
        ({"top_p": 0}, r"top_p: must be in \(0, 1\]"),
        ({"top_p": 1.5}, "top_p: must be"),
        ({"top_p": "x"}, "top_p: must be"),
        ({"top_p": float("nan")}, "top_p: must be"),
        ({"logprobs": "yes"}, "logprobs: must be"),
        ({"logprobs": 21}, "logprobs: must be"),
        ({"logprobs": -1}, "logprobs: must be"),
        ({"logit_bias": [1]}, "logit_bias: must be an object"),
        ({"logit_bias": {"x": 1}}, "logit_bias: every key"),
        ({"logit_bias": {"-1": 1}}, "logit_bias: every key"),
        ({"logit_bias": {"²": 1}}, "logit_bias: every key"),
        ({"logit_bias": {str(VOCABULARY): 1}}, "logit_bias: every key"),
        ({"logit_bias": {"9" * 5_000: 1}}, "logit_bias: every key"),
        ({"logit_bias": {"1": 101}}, "logit_bias: every bias"),
        ({"logit_bias": {"1": "much"}}, "logit_bias: every bias"),
        ({"response_format": "json"}, "response_format: must be an object"),
        ({"response_format": {"type": "json_object"}}, "response_format.type: must be text or json_schema"),
        ({"response_format": {"type": ["text"]}}, "response_format.type: must be"),
        ({"response_format": {"type": "json_schema"}}, "json_schema.schema: must be an object"),
        ({"response_format": {"type": "json_schema", "json_schema": 3}}, "json_schema: must be an object"),
        ({"response_format": schema()}, "json_schema.schema: must be"),
        ({"response_format": schema(enum=["\ud800"])}, "lone surrogate"),
    ],
)
def test_wrong_fields_are_refused_by_name(fields: dict[str, Any], message: str):
    """What the door can see, it refuses, naming the field."""
    with pytest.raises(RequestError, match=message):
        read_sampling(fields)


@given(
    choices=st.lists(st.text(min_size=1), min_size=1),
    favoured=st.integers(0, VOCABULARY - 1),
    biases=st.dictionaries(st.integers(0, VOCABULARY - 1), st.integers(-100, 99), max_size=4),
)
def test_what_is_sound_is_kept_as_it_is(choices: list[str], favoured: int, biases: dict[int, int]):
    """Choices come through in order and letter by letter, and of many biases the one that decides."""
    asked = {
        "response_format": schema(type="string", enum=choices),
        "logit_bias": {str(token): bias for token, bias in (biases | {favoured: 100}).items()},
    }
    sampling = read_sampling(asked)
    assert sampling.choices == tuple(choices)
    assert sampling.favoured_token == favoured
