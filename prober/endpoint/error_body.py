"""Error bodies of every shape in use, taken apart into text, machine codes and numbers.

Shapes: nested `{"error": {...}}` (OpenAI, vLLM, llama.cpp), flat `{"object": "error", ...}` (SGLang, TensorRT-LLM),
`{"error": "..."}` (TGI), `{"detail": ...}` (FastAPI), `{"errors": [...]}` (Cloudflare's envelope), JSON strings, plain
text, HTML, and Python's repr of a dict (SGLang's gateway). Only the keys named here are read: a validation error that
echoes the request must not have our own prompt searched for patterns.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping

from prober.endpoint.tolerant_json import as_count, as_items, as_map, as_text, decode

_MAX_JSON_BYTES = 262_144
_MAX_TEXT = 16_384
_MAX_DEPTH = 5
_MAX_ITEMS = 8
_TEXT_KEYS = ("message", "Message", "msg", "error", "errors", "detail", "description", "metadata", "raw")
_OBJECT_KEYS = ("response", "result")
"""Hold errors as objects; as strings they are an answer's text, which says nothing about the refusal."""
_CODE_KEYS = ("code", "type", "error_type", "error_code")
_STATUS_KEYS = ("status", "status_code", "code")
_ERROR_STATUSES = range(400, 600)
_SAYS_NOTHING = frozenset({"error", "null", "None"})
_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")
_CODE_IN_PLAIN_TEXT = re.compile(r"""["'](?:code|type)["']\s*:\s*["']?([A-Za-z0-9][A-Za-z0-9_.:-]{0,63})""")
_STATUS_IN_PLAIN_TEXT = re.compile(r"""["'](?:status|status_code|code)["']\s*:\s*["']?([45]\d\d)\b""")
_CODE_BEFORE_TEXT = re.compile(r"^[^\S\n]{0,8}(?:(?:AiError|Error): {0,8}){0,4}(\d{4,5}):", re.MULTILINE)
"""Cloudflare's binding form: `3010: AiError: ...`. Blanks are bounded: any number of them, sought from each of
thousands of empty lines, would take seconds."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBody:
    """What an error body says. `text` is the peer's and goes no further than pattern matching."""

    text: str = dataclasses.field(repr=False)
    """All message texts, one per line, at most 16,384 characters."""
    codes: tuple[str, ...] = ()
    """Machine codes in order of appearance, each at most 64 characters of `A-Za-z0-9_.:-`."""
    status: int | None = None
    """HTTP status named inside the body (400..599)."""
    prompt_tokens: int | None = None
    """llama.cpp's `n_prompt_tokens`."""
    context_tokens: int | None = None
    """llama.cpp's `n_ctx`."""


def parse_error(body: bytes) -> ErrorBody:
    """Take an error body apart; never raises."""
    document = decode(body) if len(body) <= _MAX_JSON_BYTES else None
    if not isinstance(document, dict | list | str):
        return _plain(body[: 4 * _MAX_TEXT].decode("utf-8", "replace")[:_MAX_TEXT])
    parts = tuple(_walk(document, _MAX_DEPTH))
    objects = tuple(part for part in parts if not isinstance(part, str))
    text = "\n".join(part for part in parts if isinstance(part, str))[:_MAX_TEXT]
    numbers = tuple(as_count(item.get(key)) for item in objects for key in _STATUS_KEYS)
    return ErrorBody(
        text=text,
        codes=_unique((*_codes_in(objects), *_CODE_BEFORE_TEXT.findall(text))),
        status=next((number for number in numbers if number in _ERROR_STATUSES), None),
        prompt_tokens=_count_in(objects, "n_prompt_tokens"),
        context_tokens=_count_in(objects, "n_ctx"),
    )


def _plain(text: str) -> ErrorBody:
    """Plain text, HTML, Python's repr, or JSON that was cut off or too long."""
    status = _STATUS_IN_PLAIN_TEXT.search(text)
    return ErrorBody(
        text=text,
        codes=_unique((*_CODE_IN_PLAIN_TEXT.findall(text), *_CODE_BEFORE_TEXT.findall(text))),
        status=int(status[1]) if status else None,
    )


def _walk(node: object, depth: int) -> Iterator[str | Mapping[str, object]]:
    """Message texts and the objects that hold them, outermost first."""
    if isinstance(node, str):
        yield as_text(node[:_MAX_TEXT])
    if depth == 0:
        return
    for item in as_items(node)[:_MAX_ITEMS]:
        yield from _walk(item, depth - 1)
    if fields := as_map(node):
        yield fields
        for key in _TEXT_KEYS:
            yield from _walk(fields.get(key), depth - 1)
        for key in _OBJECT_KEYS:
            yield from _walk(as_map(fields.get(key)), depth - 1)


def _codes_in(objects: Iterable[Mapping[str, object]]) -> Iterator[str]:
    for fields in objects:
        for key in _CODE_KEYS:
            code = as_text(fields.get(key))
            # Only a whole identifier is a code: part of a sentence would be the peer's text.
            if _CODE.fullmatch(code):
                yield code


def _unique(codes: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(code for code in codes if code not in _SAYS_NOTHING))


def _count_in(objects: Iterable[Mapping[str, object]], key: str) -> int | None:
    return next((as_count(fields[key]) for fields in objects if key in fields), None)
