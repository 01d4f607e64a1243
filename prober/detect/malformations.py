"""What honest servers do with requests that we broke on purpose: refuse them, or merely leave the fault out."""

from collections.abc import Mapping
from typing import Final

from prober.domain.options import Malformation

LENIENT: Final[Mapping[Malformation, str]] = {
    Malformation.UNKNOWN_ROLE: "llama.cpp hands any role to the chat template, which may leave the message out",
    Malformation.NEGATIVE_MAX_TOKENS: "llama.cpp and Ollama take -1 for no limit (n_predict, num_predict)",
    Malformation.TEMPERATURE_OUT_OF_RANGE: "llama.cpp and Ollama sample at any temperature",
    Malformation.TOP_P_OUT_OF_RANGE: "llama.cpp takes a top_p of 1 and more for switched off",
    Malformation.OUTPUT_BEYOND_CONTEXT: "llama.cpp and Ollama generate until the window is full",
    Malformation.BROKEN_LOGIT_BIAS: "Ollama and gateways that drop unknown parameters (LiteLLM drop_params) ignore it",
}
"""Faults that some honest server serves, and which one: an answer is then no sign of anything."""

STRICT: Final[Mapping[Malformation, str]] = {
    Malformation.NO_MESSAGES: "a required field of OpenAI's chat completions; vLLM, SGLang and llama.cpp answer 400",
    Malformation.UNKNOWN_PART: "vLLM: unknown part type; llama.cpp: unsupported content[].type; SGLang: 400",
    Malformation.BROKEN_SCHEMA: "vLLM, SGLang and llama.cpp answer 400 when a grammar cannot be compiled",
    Malformation.BROKEN_JSON: "no server can know what was asked",
}
"""Faults that every known server refuses."""

LEAVES_PROMPT_WHOLE: Final = frozenset(
    {
        Malformation.NEGATIVE_MAX_TOKENS,
        Malformation.TEMPERATURE_OUT_OF_RANGE,
        Malformation.TOP_P_OUT_OF_RANGE,
        Malformation.OUTPUT_BEYOND_CONTEXT,
        Malformation.BROKEN_LOGIT_BIAS,
        Malformation.BROKEN_SCHEMA,
    }
)
"""The messages are in order: who merely ignores the fault knows what they say."""
