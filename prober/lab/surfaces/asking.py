"""From a request's body to what is asked of the cluster, with the checks an inference server makes before it."""

import dataclasses
import json
from collections.abc import Mapping

OPENAI_DEFAULT_MAX_TOKENS = 128
"""SGLang's `SamplingParams.max_new_tokens` default (sampling/sampling_params.py)."""

WORKERS_AI_DEFAULT_MAX_TOKENS = 256
"""Workers AI's documented default for text generation."""

MAX_TEMPERATURE = 2.0

ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


class RequestError(Exception):
    """The request cannot be asked of any cluster. The message holds no text of the request."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One understood request."""

    messages: tuple[tuple[str, str], ...] = dataclasses.field(repr=False)
    """(role, content) pairs."""
    max_tokens: int
    temperature: float
    is_stream: bool
    wants_usage: bool
    """`stream_options.include_usage`: only streams ask for it, a whole answer always has it."""
    model: str
    rejects_if_busy: bool = False


def parse_object(body: bytes) -> dict[str, object]:
    """Parse a JSON object.

    Raises:
        RequestError: the body is no UTF-8, no JSON, too deeply nested, or no object.
    """
    try:
        parsed = json.loads(body.decode())
    except UnicodeDecodeError:
        raise RequestError("the body is not valid UTF-8") from None
    except ValueError as error:
        position = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise RequestError(f"the body is not valid JSON{position}") from None
    except RecursionError:
        raise RequestError("the body is nested too deeply") from None
    if not isinstance(parsed, dict):
        raise RequestError("the body must be a JSON object")
    return parsed


def ask_chat(fields: Mapping[str, object], *, model: str, default_max_tokens: int) -> Asked:
    """Read a chat request: `messages` and the common fields. Unknown fields are ignored, as SGLang does.

    Raises:
        RequestError: a field is missing, of a wrong type or out of range.
    """
    return _asked(fields, _messages(fields.get("messages")), model=model, default_max_tokens=default_max_tokens)


def ask_prompt(fields: Mapping[str, object], *, model: str, default_max_tokens: int) -> Asked:
    """Read a plain prompt request: `prompt` is a string or a list of one string.

    Raises:
        RequestError: a field is missing, of a wrong type or out of range.
    """
    prompt = fields.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    if not isinstance(prompt, str):
        raise RequestError("prompt: must be a string")
    messages = (("user", _text("prompt", prompt)),)
    return _asked(fields, messages, model=model, default_max_tokens=default_max_tokens)


def _asked(
    fields: Mapping[str, object], messages: tuple[tuple[str, str], ...], *, model: str, default_max_tokens: int
) -> Asked:
    is_stream = _flag(fields, "stream")
    return Asked(
        messages=messages,
        max_tokens=_max_tokens(fields, default_max_tokens),
        temperature=_temperature(fields),
        is_stream=is_stream,
        wants_usage=is_stream and _flag(_mapping(fields, "stream_options"), "include_usage"),
        model=_text("model", _model(fields, model)),
        rejects_if_busy=_flag(_mapping(fields, "options"), "rejectIfBusy"),
    )


def _messages(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list) or not value:
        raise RequestError("messages: must be a list with at least one message")
    return tuple(_message(f"messages[{index}]", item) for index, item in enumerate(value))


def _message(place: str, item: object) -> tuple[str, str]:
    if not isinstance(item, dict):
        raise RequestError(f"{place}: must be an object")
    role = item.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise RequestError(f"{place}.role: must be one of {', '.join(sorted(ROLES))}")
    content = item.get("content")
    if isinstance(content, list):
        content = "".join(_part(f"{place}.content[{index}]", part) for index, part in enumerate(content))
    if not isinstance(content, str):
        raise RequestError(f"{place}.content: must be a string or a list of text parts")
    return role, _text(f"{place}.content", content)


def _part(place: str, part: object) -> str:
    text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
    if not isinstance(text, str):
        raise RequestError(f"{place}: only text parts are supported")
    return text


def _text(place: str, text: str) -> str:
    # Known without looking at each of its millions of characters, unlike what `encode` would say.
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RequestError(f"{place}: holds a lone surrogate") from None
    return text


def _model(fields: Mapping[str, object], default: str) -> str:
    model = fields.get("model", default)
    if not isinstance(model, str):
        raise RequestError("model: must be a string")
    return model


def _max_tokens(fields: Mapping[str, object], default: int) -> int:
    for name in ("max_completion_tokens", "max_tokens"):
        value = fields.get(name)
        if value is None:
            continue
        # bool is an int to Python, not to JSON.
        if type(value) is not int or value < 1:
            raise RequestError(f"{name}: must be a positive integer")
        return value
    return default


def _temperature(fields: Mapping[str, object]) -> float:
    value = fields.get("temperature")
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_TEMPERATURE:
        raise RequestError("temperature: must be a number between 0 and 2")
    return float(value)


def _flag(fields: Mapping[str, object], name: str) -> bool:
    value = fields.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise RequestError(f"{name}: must be true or false")
    return value


def _mapping(fields: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = fields.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RequestError(f"{name}: must be an object")
    return value
