"""From a request's body to what is asked of the cluster, with the checks an inference server makes before it."""

import dataclasses
from collections.abc import Mapping

from prober.lab.surfaces.fields import RequestError, flag, mapping, string, text_of
from prober.lab.surfaces.sampling import Sampling, read_sampling

OPENAI_DEFAULT_MAX_TOKENS = 128
"""SGLang's `SamplingParams.max_new_tokens` default (sampling/sampling_params.py)."""

WORKERS_AI_DEFAULT_MAX_TOKENS = 256
"""Workers AI's documented default for text generation."""

ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One understood request."""

    messages: tuple[tuple[str, str], ...] = dataclasses.field(repr=False)
    """(role, content) pairs."""
    max_tokens: int
    sampling: Sampling
    is_stream: bool
    wants_usage: bool
    """`stream_options.include_usage`: only streams ask for it, a whole answer always has it."""
    model: str
    rejects_if_busy: bool = False
    cache_salt: str = ""


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
    messages = (("user", text_of("prompt", prompt)),)
    return _asked(fields, messages, model=model, default_max_tokens=default_max_tokens)


def _asked(
    fields: Mapping[str, object], messages: tuple[tuple[str, str], ...], *, model: str, default_max_tokens: int
) -> Asked:
    is_stream = flag(fields, "stream")
    salt = string(fields, "cache_salt", "")
    if fields.get("cache_salt") is not None and not salt:
        raise RequestError("cache_salt: must be a non-empty string")
    return Asked(
        messages=messages,
        max_tokens=_max_tokens(fields, default_max_tokens),
        sampling=read_sampling(fields),
        is_stream=is_stream,
        wants_usage=is_stream and flag(mapping(fields, "stream_options"), "include_usage"),
        model=string(fields, "model", model),
        rejects_if_busy=flag(mapping(fields, "options"), "rejectIfBusy"),
        cache_salt=salt,
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
    return role, text_of(f"{place}.content", content)


def _part(place: str, part: object) -> str:
    text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
    if not isinstance(text, str):
        raise RequestError(f"{place}: only text parts are supported")
    return text


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
