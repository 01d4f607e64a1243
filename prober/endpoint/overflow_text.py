"""Texts by which servers say that a prompt is too long, and the numbers that stand in them.

Sources: SGLang 0.5.x managers/tokenizer_manager.py, managers/utils.py, managers/scheduler.py; vLLM renderers/params.py
and v1/engine/input_processor.py; text-generation-inference router/src/validation.rs; llama.cpp server README;
TensorRT-LLM openai_server.py; LiteLLM exception_mapping_utils.py; opencode provider/error.ts and pi-mono overflow.ts,
which collect the hosted services' texts.
"""

import re

_NUMBER = r"(\d{1,3}(?:[,_\u00a0\u202f]\d{3})+(?!\d)|\d{1,12})"
_MAX_NUMBER = 10**9


def _compile(*patterns: str) -> re.Pattern[str]:
    """One alternation; `#` stands for a number, with or without thousands separators."""
    return re.compile("|".join(patterns).replace("#", _NUMBER), re.IGNORECASE)


_OVERFLOW = _compile(
    r"prompt (?:is )?too long",
    r"超长",
    r"input is too long",
    r"exceeded this model context window limit",
    r"exceeds the context window",
    r"context window .{0,20}exceed",
    r"exceeds? (?:the )?(?:model\\?['\u2019]?s )?maximum context length",
    r"maximum context length is #",
    r"exceeds (?:the )?maximum allowed (?:input )?length",
    r"longer than the (?:model\\?['\u2019]?s )?context length",
    r"max(?:_completion)?_tokens is too large",
    r"max_tokens must be at least 1, got (?:0|-\d)",
    r"context length is only #",
    r"longer than the maximum model length",
    r"input length # exceeds maximum input length",
    r"should not exceed max_num_tokens",
    r"default_max_tokens.{0,80}must be greater than 0",
    r"`inputs` tokens \+ `max_new_tokens` must be <=",
    r"inputs.{0,40}must have less than",
    r"exceeds the available context size",
    r"exceeds? context limit",
    r"input token count.{0,80}(?:exceeds the maximum|only supports up to)",
    r"context[_ ]?(?:length|window)[_ ]?exceeded|exceed_context_size_error",
    r"tokens in request more than max tokens allowed",
    r"exceeded model token limit",
    r"exceeds the maximum number of tokens: #",
    r"prompt token count.{0,40}exceeds the limit",
    r"maximum prompt length is #",
    r"too large for model with # maximum context length",
    r"range of input length should be",
    r"reduce the length of the (?:messages|input|prompt)",
)

_LIMITS = _compile(
    r"context length(?: is(?: only)?| of| currently available)?[ :]{1,2}\(?#",
    r"maximum allowed (?:input )?length(?: of)? \(?#",
    r"maximum (?:model|input) length(?: of)? \(?#",
    r"context window limit \(?#",
    r"available context size \(?#",
    r"maximum prompt length is #",
    r"must have less than # tokens",
    r"must be <= #",
    r"context limit: \d+ \+ \d+ > #",
    r"tokens > # maximum",
    r"maximum number of tokens: \d+ > #",
    r"maximum number of tokens allowed \(?#",
    r"only supports up to #",
    r"max_num_tokens \(#",
    r"max_seq_len \(#",
    r"model token limit: #",
    r"exceeds the limit of #",
    r"model with # maximum context length",
    r"while limit is #",
    r"range of input length should be \[\d+, #",
)

_TOKENS = _compile(
    r"(?:input|input length|request) \(# tokens\)",
    r"input length \(#\)",
    r": # tokens from the input messages",
    r"\(# in the (?:messages|prompt)",
    r"messages resulted in # tokens",
    r"you passed # input tokens",
    r"prompt \(length #\)",
    r"given: #\b",
    r"too long: # tokens",
    r"context limit: # \+",
    r"input token count (?:\(|is |of )#",
    r"input length # exceeds",
    r"prompt length \(#",
    r"`?splited_prompt_len`? \(#",
    r"maximum number of tokens: # >",
    r"prompt token count of #",
    r"(?:request|prompt) contains # (?:input )?tokens",
    r"current length is # while",
)
"""No pattern takes "at least N tokens": vLLM stops counting at its limit, so N is not the prompt's length."""


def says_overflow(text: str) -> bool:
    """The text refuses a prompt for its length in tokens."""
    return _OVERFLOW.search(text) is not None


def stated_limits(text: str) -> tuple[int, ...]:
    """Token limits that the text names, smallest first, each once."""
    return tuple(sorted(set(_numbers(_LIMITS, text))))


def stated_tokens(text: str) -> int | None:
    """The server's exact count of our prompt, or None where it prints none."""
    return next(iter(_numbers(_TOKENS, text)), None)


def _numbers(pattern: re.Pattern[str], text: str) -> list[int]:
    """Positive numbers that the pattern's groups caught, in order of appearance."""
    caught = (match[match.lastindex or 0] for match in pattern.finditer(text))
    numbers = (int(re.sub(r"\D", "", digits)) for digits in caught)
    return [number for number in numbers if 0 < number < _MAX_NUMBER]
