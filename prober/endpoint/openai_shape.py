"""Chat completions as OpenAI shaped them, with the variations of every server that speaks this shape."""

import dataclasses
import io
import json
import re
from collections.abc import Mapping, Sequence

from prober.domain.observation import Refusal, RefusalReason
from prober.domain.options import Malformation
from prober.endpoint.frame import Frame
from prober.endpoint.json_string import json_string
from prober.endpoint.refusals import classify
from prober.endpoint.request_options import malformed
from prober.endpoint.tolerant_json import as_flat_text, as_items, as_label, as_map, as_text, decode
from prober.endpoint.usage_shape import read_usage

_OK = 200
_DONE = b"[DONE]"
_NOT_SERVED = frozenset({"abort", "error"})
"""Finish reasons of answers that broke off: SGLang's `abort`, vLLM's `error`, Workers AI's `error`."""
_FAILURE_EVENTS = ("error", "response.failed")
_OURS = frozenset({"messages", "stream", "max_tokens", "max_completion_tokens"})
_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_details")
_ERROR_FRAME = re.compile(rb"""\s*\{\s*["']error["']\s*:""")
"""SGLang's gateway prints Python's repr of a dict into `data:`, which is no JSON."""


def chat_request(
    fields: Mapping[str, object],
    prompt_text: str,
    *,
    max_output_tokens: int,
    stream: bool,
    extra: Mapping[str, object],
    wished: Mapping[str, object] | None = None,
    malformation: Malformation | None = None,
) -> bytes:
    """Encode a chat request of one user message.

    Args:
        fields: the dialect's own.
        prompt_text: content of the message.
        max_output_tokens: cap.
        stream: whether to stream.
        extra: the operator's own fields, which win over the dialect's.
        wished: what the probe asks for beside its prompt; wins over both.
        malformation: what to break of it, if anything.
    """
    cap = "max_completion_tokens" if "max_completion_tokens" in extra else "max_tokens"
    request: dict[str, object] = {
        **fields,
        **{key: value for key, value in extra.items() if key not in _OURS},
        **(wished or {}),
        "messages": [{"role": "user", "content": ""}],
        cap: max_output_tokens,
        "stream": stream,
    }
    request = malformed(request, cap, malformation)
    envelope = json.dumps({key: value for key, value in request.items() if value is not None}, separators=(",", ":"))
    if not request["messages"]:
        return envelope.encode("ascii")
    # The prompt is the last string: after it come only the cap and the stream flag.
    before, _, after = envelope.rpartition('""')
    if malformation is Malformation.BROKEN_JSON:
        after = ""
    return _joined_at_once(before.encode("ascii"), prompt_text, after.encode("ascii"))


def _joined_at_once(before: bytes, text: str, after: bytes) -> bytes:
    """Write a body into one buffer, which is then given away: megabytes are held once, not twice."""
    body = io.BytesIO()
    # A line break becomes two characters, and nothing else of our prompts changes: the buffer seldom has to grow.
    body.seek(len(before) + len(text) + text.count("\n") + len('""') + len(after) - 1)
    body.write(b" ")
    body.seek(0)
    body.write(before)
    body.writelines(json_string(text))
    body.write(after)
    body.truncate()
    return body.getvalue()


def stream_frame(data: bytes, event: str) -> Frame:
    """Decode one event of a stream; an error in any disguise is a refusal."""
    data = data.strip()
    if data == _DONE:
        return Frame(is_done=True)
    if not data:
        return Frame()
    document = decode(data)
    if event == "error" or is_error(document) or (document is None and _ERROR_FRAME.match(data)):
        return dataclasses.replace(completion(document), refusal=classify(_OK, data, in_stream=True))
    if not isinstance(document, dict):
        return Frame(is_bad=True)
    return completion(document, in_stream=True)


def whole_answer(body: bytes) -> Frame:
    """Decode a JSON body; without a single choice it is bad, unless it is an error."""
    document = decode(body)
    if is_error(document):
        return dataclasses.replace(completion(document), refusal=classify(_OK, body), is_done=True)
    if not any(isinstance(choice, dict) for choice in as_items(as_map(document).get("choices"))):
        return Frame(is_bad=True)
    return dataclasses.replace(completion(document), is_done=True)


def is_error(document: object) -> bool:
    """The document reports a failure: an error object of any shape, a failure event, or `success: false`."""
    fields = as_map(document)
    if fields.get("error") or fields.get("object") == "error" or fields.get("type") in _FAILURE_EVENTS:
        return True
    return fields.get("success") is False or (
        "choices" not in fields and any(fields.get(key) for key in ("detail", "errors"))
    )


def completion(document: object, *, in_stream: bool = False) -> Frame:
    """Read a chat completion or one chunk of it: every choice, every channel.

    An answer that broke off (`abort`, `error`) is a refusal by the server, never a served answer; what it had said
    until then is kept, because a leak counts wherever it stands.
    """
    fields = as_map(document)
    choices = [as_map(choice) for choice in as_items(fields.get("choices"))]
    messages = [_message(choice) for choice in choices]
    tools = "".join([_tool_text(message) for message in messages])
    finish = next((choice["finish_reason"] for choice in choices if choice.get("finish_reason")), None)
    finish_reason = as_label(as_map(finish).get("type") if isinstance(finish, dict) else finish)
    return Frame(
        content="".join([_content(message) for message in messages]) + tools,
        reasoning="".join([_reasoning(message) for message in messages]),
        tool=bool(tools),
        finish_reason=finish_reason,
        usage=read_usage(fields),
        response_id=as_label(fields.get("id")),
        model=as_label(fields.get("model")),
        system_fingerprint=as_label(fields.get("system_fingerprint")),
        sampled=_sampled(choices),
        refusal=_broken_off(finish_reason, finish, in_stream=in_stream),
    )


def _sampled(choices: Sequence[Mapping[str, object]]) -> bytes | None:
    """UTF-8 of the tokens whose log probabilities came, joined; None when none came."""
    tokens = [token for choice in choices for token in as_items(as_map(choice.get("logprobs")).get("content"))]
    return b"".join(map(_token_bytes, map(as_map, tokens))) if tokens else None


def _token_bytes(token: Mapping[str, object]) -> bytes:
    """A token that holds part of a character has no text of its own, hence OpenAI's `bytes`."""
    values = as_items(token.get("bytes"))
    try:
        given = bytes(values)  # type: ignore[arg-type]  # whatever the peer sent
    except (TypeError, ValueError):
        given = b""
    return given or as_text(token.get("token")).encode("utf-8")


def _broken_off(finish_reason: str | None, details: object, *, in_stream: bool) -> Refusal | None:
    """The refusal behind a finish reason that means "not served"; None for every other finish reason.

    SGLang's native form is an object `{"type": "abort", "message": ..., "status_code": 400}`: its message tells why.
    """
    if finish_reason not in _NOT_SERVED:
        return None
    if isinstance(details, dict):
        return classify(_OK, json.dumps(details).encode(), in_stream=in_stream)
    return Refusal(reason=RefusalReason.SERVER, code=finish_reason, in_stream=in_stream)


def _message(choice: Mapping[str, object]) -> Mapping[str, object]:
    """The part of a choice that holds text: chunk, whole message, or the choice itself (text completions)."""
    return as_map(choice.get("delta") or choice.get("message") or {"content": choice.get("text")})


def _content(message: Mapping[str, object]) -> str:
    return _joined(message.get("content")) + as_text(message.get("refusal"))


def _reasoning(message: Mapping[str, object]) -> str:
    # vLLM and OpenRouter send the same text under several names while they rename the field.
    return "".join(dict.fromkeys(_joined(message[name]) for name in _REASONING if message.get(name)))


def _joined(content: object) -> str:
    """Text given as a string, or as a list of parts with their text under `text`."""
    if content is None or isinstance(content, str):
        return as_text(content)
    if isinstance(content, list):
        return "".join([as_text(as_map(part).get("text")) or as_text(part) for part in content])
    return as_flat_text(content)


def _tool_text(message: Mapping[str, object]) -> str:
    calls, call = message.get("tool_calls"), message.get("function_call")
    return _tool_calls(calls) + _tool_calls([call]) if calls or call else ""


def _tool_calls(calls: object) -> str:
    """Names and arguments of tool calls, which are generated text like any other."""
    functions = [as_map(as_map(call).get("function") or call) for call in as_items(calls)]
    return "".join(as_flat_text(function.get(key)) for function in functions for key in ("name", "arguments"))
