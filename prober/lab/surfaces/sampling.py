"""What a request asks of sampling: temperature, constraints, biases, log probabilities."""

import dataclasses
from collections.abc import Mapping

from prober.lab.surfaces.fields import RequestError, mapping, number, text_of
from prober.lab.tokenizer import MAX_PIECES

MAX_TEMPERATURE = 2.0
MAX_BIAS = 100.0
MAX_TOP_LOGPROBS = 20
VOCABULARY = 2 * MAX_PIECES
"""First token id that there can never be."""

NO_GRAMMAR = "Invalid grammar request: the JSON schema cannot be compiled."
"""Found out by the scheduler, which is where SGLang builds grammars; until then the request looks sound."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the answer's tokens are chosen."""

    temperature: float = 1.0
    choices: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    favoured_token: int | None = None
    reasoning_budget: int | None = None
    wants_logprobs: bool = False
    late_error: str = ""


def read_sampling(fields: Mapping[str, object]) -> Sampling:
    """Read and check all fields about sampling.

    Raises:
        RequestError: a field is of a wrong type or out of range.
    """
    _check_top_p(fields.get("top_p"))
    choices, late_error = _constraint(mapping(fields, "response_format"))
    return Sampling(
        temperature=_temperature(fields.get("temperature")),
        choices=choices,
        favoured_token=_favoured_token(mapping(fields, "logit_bias")),
        reasoning_budget=_reasoning_budget(fields),
        wants_logprobs=_wants_logprobs(fields.get("logprobs")),
        late_error=late_error,
    )


def _temperature(value: object) -> float:
    if value is None:
        return 1.0
    temperature = number(value)
    if temperature is None or not 0 <= temperature <= MAX_TEMPERATURE:
        raise RequestError("temperature: must be a number between 0 and 2")
    return temperature


def _check_top_p(value: object) -> None:
    """The simulated LLM draws nothing, so a sound value changes nothing."""
    share = number(value)
    if value is not None and (share is None or not 0 < share <= 1):
        raise RequestError("top_p: must be in (0, 1]")


def _wants_logprobs(value: object) -> bool:
    """Chat completions ask by true or false, text completions by how many alternatives they want."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if not isinstance(value, int) or not 0 <= value <= MAX_TOP_LOGPROBS:
        raise RequestError(f"logprobs: must be true, false or a number from 0 to {MAX_TOP_LOGPROBS}")
    return True


def _constraint(form: Mapping[str, object]) -> tuple[tuple[str, ...], str]:
    """Choices of an enum schema, or what the scheduler will say of a schema that is none."""
    kind = form.get("type", "text")
    if kind == "text":
        return (), ""
    if kind != "json_schema":
        raise RequestError("response_format.type: must be text or json_schema")
    schema = mapping(mapping(form, "json_schema"), "schema")
    if not schema:
        raise RequestError("response_format.json_schema.schema: must be an object with at least one key")
    values = schema.get("enum")
    values = values if isinstance(values, list) and schema.get("type", "string") == "string" else []
    choices = [value for value in values if isinstance(value, str) and value]
    if not choices or len(choices) < len(values):
        return (), NO_GRAMMAR
    return tuple(text_of("response_format.json_schema.schema.enum", choice) for choice in choices), ""


def _reasoning_budget(fields: Mapping[str, object]) -> int | None:
    """In vLLM's field of its own, or where SGLang looks for it; the smaller one where they differ."""
    places = {
        "thinking_token_budget": fields.get("thinking_token_budget"),
        "custom_params.thinking_budget": mapping(fields, "custom_params").get("thinking_budget"),
    }
    budgets = []
    for place, value in places.items():
        if value is None:
            continue
        # bool is an int to Python, not to JSON.
        if type(value) is not int or value < 0:
            raise RequestError(f"{place}: must be an integer of at least 0")
        budgets.append(value)
    return min(budgets, default=None)


def _favoured_token(biases: Mapping[str, object]) -> int | None:
    """The token of the greatest bias, if that decides: smaller ones never do with an LLM as sure as this one."""
    favoured = None
    for token, value in biases.items():
        bias = number(value)
        # Digits of other scripts are digits to Python, and thousands of them no integer.
        is_number = token.isascii() and token.isdigit() and len(token) <= len(str(VOCABULARY))
        if not is_number or int(token) >= VOCABULARY:
            raise RequestError("logit_bias: every key must be the id of a token of the vocabulary")
        if bias is None or not -MAX_BIAS <= bias <= MAX_BIAS:
            raise RequestError("logit_bias: every bias must be a number between -100 and 100")
        if bias == MAX_BIAS:
            favoured = int(token)
    return favoured
