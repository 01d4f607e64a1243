"""How what a probe asks for beside its prompt is written into a request body, faults on purpose included."""

from collections.abc import Callable, Mapping
from typing import Final

from prober.domain.options import Malformation, RequestOptions

Fields = dict[str, object]

_FAVOUR: Final = 100
"""OpenAI's largest logit bias: the token is taken whatever else is likely."""
_BROKEN_SCHEMA: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {"answer": {"$ref": "#/$defs/missing"}},
    "required": ["answer"],
}
"""Well-formed, and refers to what it does not define: who builds a grammar of it must fail."""


def option_fields(options: RequestOptions) -> Fields:
    """Fields of OpenAI's chat completions, and of vLLM and SGLang (`cache_salt`, budgets); none for what is not asked.

    vLLM has `thinking_token_budget` (its pull request #20859, from 0.20 on), and SGLang reads `thinking_budget` from
    `custom_params` (its guide "Thinking Budget", `--enable-strict-thinking`). Each ignores the other's.
    """
    fields = native_fields(options)
    schema = _schema(options)
    if schema is not None:
        fields["response_format"] = {"type": "json_schema", "json_schema": {"name": "choice", "schema": schema}}
    if options.favoured_token is not None:
        fields.setdefault("logit_bias", {str(options.favoured_token): _FAVOUR})
    if options.reasoning_budget is not None:
        fields["thinking_token_budget"] = options.reasoning_budget
        fields["custom_params"] = {"thinking_budget": options.reasoning_budget}
    if options.wants_logprobs:
        fields["logprobs"] = True
    if options.cache_salt is not None:
        fields["cache_salt"] = options.cache_salt
    return fields


def native_fields(options: RequestOptions) -> Fields:
    """Fields of Workers AI's native interface, which knows no salt, favoured token, budget or log probabilities.

    Its JSON mode takes the schema itself where OpenAI's shape takes it with a name: written so that both read it.
    A broken logit bias is sent all the same, for a request without any fault would tell nothing.
    """
    fields: Fields = {}
    schema = _schema(options)
    if schema is not None:
        fields["response_format"] = {
            "type": "json_schema",
            "json_schema": {**schema, "name": "choice", "schema": schema},
        }
    if options.malformation is Malformation.BROKEN_LOGIT_BIAS:
        fields["logit_bias"] = {"no-token": _FAVOUR}
    return fields


def _schema(options: RequestOptions) -> Mapping[str, object] | None:
    if options.malformation is Malformation.BROKEN_SCHEMA:
        return _BROKEN_SCHEMA
    return {"type": "string", "enum": list(options.choices)} if options.choices else None


def malformed(request: Fields, cap: str, malformation: Malformation | None) -> Fields:
    """Break a sound request in one field.

    Args:
        request: a chat request whose one message has the content `""`.
        cap: name of its field for the output cap.
        malformation: what to break; BROKEN_JSON, BROKEN_SCHEMA and BROKEN_LOGIT_BIAS are done elsewhere.

    Returns:
        The request in the same order, new fields first: the empty content is still the last string in it.
    """
    change = _CHANGES.get(malformation) if malformation is not None else None
    return request if change is None else change(request, cap)


def _with_role(request: Fields, _cap: str) -> Fields:
    return {**request, "messages": [{"role": "nobody", "content": ""}]}


def _with_part(request: Fields, _cap: str) -> Fields:
    parts = [{"type": "hologram", "hologram": {"url": "data:,"}}, {"type": "text", "text": ""}]
    return {**request, "messages": [{"role": "user", "content": parts}]}


_CHANGES: Final[Mapping[Malformation, Callable[[Fields, str], Fields]]] = {
    Malformation.NO_MESSAGES: lambda request, _cap: {**request, "messages": []},
    Malformation.UNKNOWN_ROLE: _with_role,
    Malformation.UNKNOWN_PART: _with_part,
    # llama.cpp takes -1 for no limit; any other negative number ends an answer at once there.
    Malformation.NEGATIVE_MAX_TOKENS: lambda request, cap: {**request, cap: -5},
    # Below 0, since several servers take temperatures above 2.
    Malformation.TEMPERATURE_OUT_OF_RANGE: lambda request, _cap: {**request, "temperature": -1.0},
    Malformation.TOP_P_OUT_OF_RANGE: lambda request, _cap: {"top_p": None, **request} | {"top_p": 1.5},
    # Beyond every window there is, and still a 32-bit integer.
    Malformation.OUTPUT_BEYOND_CONTEXT: lambda request, cap: {**request, cap: 1_000_000_000},
}
