"""Options of a probe in request bodies."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.options import PLAIN, Malformation, RequestOptions
from prober.endpoint.dialects import DIALECTS
from prober.endpoint.dialects.dialect import Dialect
from prober.endpoint.json_string import json_string
from prober.endpoint.request_options import malformed, native_fields, option_fields

TEXT = 'a line\n"quoted" \\ é 漢\n'
EVERYTHING = RequestOptions(
    request_id="r-1",
    session="s-1",
    cache_salt="salt",
    choices=("crimson", "indigo"),
    favoured_token=42,
    reasoning_budget=13,
    wants_logprobs=True,
)
SCHEMA = {"type": "string", "enum": ["crimson", "indigo"]}
every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS.keys())


def encoded(dialect: Dialect, options: RequestOptions, text: str = TEXT, **extra: object) -> bytes:
    return dialect.body("m", text, max_output_tokens=64, temperature=0.0, stream=True, extra=extra, options=options)


def written(text: str) -> bytes:
    return b"".join(json_string(text))


def test_nothing_is_asked_by_default():
    """A plain probe sends no field beside its prompt's."""
    assert option_fields(PLAIN) == native_fields(PLAIN) == {}
    assert option_fields(RequestOptions(request_id="r", session="s")) == {}


def test_options_on_the_wire():
    """Each wish has its documented field of chat completions."""
    assert option_fields(EVERYTHING) == {
        "response_format": {"type": "json_schema", "json_schema": {"name": "choice", "schema": SCHEMA}},
        "logit_bias": {"42": 100},
        "thinking_token_budget": 13,
        "custom_params": {"thinking_budget": 13},
        "logprobs": True,
        "cache_salt": "salt",
    }


def test_workers_ai_gets_what_it_knows():
    """The native interface is sent a schema, for readers of both shapes, and nothing that it has no field for."""
    (name, form) = native_fields(EVERYTHING).popitem()
    assert (name, form["type"]) == ("response_format", "json_schema")
    assert form["json_schema"]["schema"] == SCHEMA
    assert form["json_schema"].items() >= SCHEMA.items()
    assert set(native_fields(EVERYTHING)) == {"response_format"}


@every_dialect
def test_wishes_win_over_the_operators_fields(dialect: Dialect):
    """What a judgement relies on cannot be configured away; fields that are not wished for stay the operator's."""
    fields = option_fields(EVERYTHING) if "openai" in dialect.name else native_fields(EVERYTHING)
    extra = {**dict.fromkeys(option_fields(EVERYTHING), "the operator's"), "seed": 7}
    body = json.loads(encoded(dialect, EVERYTHING, **extra))
    assert {name: body[name] for name in fields} == fields
    assert (body["seed"], body["messages"]) == (7, [{"role": "user", "content": TEXT}])


@every_dialect
@settings(max_examples=60, derandomize=True, deadline=None)
@given(text=st.text(max_size=60), options=st.sampled_from([PLAIN, EVERYTHING]))
def test_the_prompt_is_sent_as_it_is_whatever_is_asked(dialect: Dialect, text: str, options: RequestOptions):
    """Options stand beside the prompt: its bytes are those of the plain request."""
    assert json.loads(encoded(dialect, options, text))["messages"][0]["content"] == json.loads(written(text))


# --- faults on purpose ----------------------------------------------------------------------------------------------

BROKEN: dict[Malformation, dict[str, Any]] = {
    Malformation.NO_MESSAGES: {"messages": []},
    Malformation.UNKNOWN_ROLE: {"messages": [{"role": "nobody", "content": TEXT}]},
    Malformation.UNKNOWN_PART: {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "hologram", "hologram": {"url": "data:,"}}, {"type": "text", "text": TEXT}],
            }
        ]
    },
    Malformation.NEGATIVE_MAX_TOKENS: {"max_tokens": -5},
    Malformation.TEMPERATURE_OUT_OF_RANGE: {"temperature": -1.0},
    Malformation.TOP_P_OUT_OF_RANGE: {"top_p": 1.5},
    Malformation.BROKEN_LOGIT_BIAS: {"logit_bias": {"no-token": 100}},
    Malformation.OUTPUT_BEYOND_CONTEXT: {"max_tokens": 1_000_000_000},
}
"""What differs from the sound body; two malformations have tests of their own."""


@every_dialect
@pytest.mark.parametrize("malformation", BROKEN)
def test_a_fault_is_one_field_of_a_sound_body(dialect: Dialect, malformation: Malformation):
    """Everything but the documented field is as in the body that would have been served."""
    sound = json.loads(encoded(dialect, PLAIN))
    broken = json.loads(encoded(dialect, RequestOptions(malformation=malformation)))
    assert broken == {**sound, **BROKEN[malformation]}


@every_dialect
def test_a_broken_schema_refers_to_what_is_not_there(dialect: Dialect):
    """It is a well-formed JSON schema that no grammar can be made of, in place of any choices."""
    options = RequestOptions(malformation=Malformation.BROKEN_SCHEMA, choices=("crimson",))
    broken = json.loads(encoded(dialect, options))
    form = broken.pop("response_format")
    assert broken == json.loads(encoded(dialect, PLAIN))
    assert form["json_schema"]["schema"]["properties"]["answer"]["$ref"] == "#/$defs/missing"
    assert "$defs" not in form["json_schema"]["schema"]


@every_dialect
def test_broken_json_ends_behind_the_prompt(dialect: Dialect):
    """The body is the sound one up to the end of the prompt, and no JSON."""
    broken = encoded(dialect, RequestOptions(malformation=Malformation.BROKEN_JSON))
    assert encoded(dialect, PLAIN).startswith(broken)
    assert broken.endswith(written(TEXT))
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(broken)


@every_dialect
@pytest.mark.parametrize("malformation", set(Malformation) - {Malformation.NO_MESSAGES})
def test_a_fault_leaves_the_prompts_bytes_alone(dialect: Dialect, malformation: Malformation):
    """Prompts of any size are sent to the byte, so that what comes back can be told from them."""
    text = ("abcd " * 15 + "abcd\n") * 2_000
    assert written(text) in encoded(dialect, RequestOptions(malformation=malformation), text)


@every_dialect
@pytest.mark.parametrize("malformation", list(Malformation))
def test_a_fault_wins_over_the_operators_fields(dialect: Dialect, malformation: Malformation):
    """An operator's own fields do not mend what is broken on purpose, under either name of the cap."""
    extra = {
        "temperature": 0.5,
        "top_p": 0.9,
        "logit_bias": {"1": 1},
        "max_completion_tokens": 9,
        "user": "",
        "response_format": {"type": "text"},
        "messages": [],
    }
    sound = encoded(dialect, PLAIN, **extra)
    broken = encoded(dialect, RequestOptions(malformation=malformation), **extra)
    assert broken != sound
    fields = BROKEN.get(malformation, {})
    if fields:
        parsed = json.loads(broken)
        assert {
            parsed.get(name.replace("max_tokens", "max_completion_tokens")) == value for name, value in fields.items()
        } == {True}


@pytest.mark.parametrize("malformation", [None, Malformation.BROKEN_JSON, Malformation.BROKEN_SCHEMA])
def test_what_is_broken_elsewhere_is_left_alone(malformation: Malformation | None):
    """Faults that are no field of the request's own are not made here."""
    request: dict[str, object] = {"messages": [{"role": "user", "content": ""}], "max_tokens": 5}
    assert malformed(request, "max_tokens", malformation) is request


def test_every_malformation_is_tried():
    """A new cause of a refusal needs its test here."""
    assert {*BROKEN, Malformation.BROKEN_SCHEMA, Malformation.BROKEN_JSON} == set(Malformation)
