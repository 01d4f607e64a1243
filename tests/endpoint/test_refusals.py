"""Why requests were refused: every body that inference servers and gateways are documented to send."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.observation import RefusalReason
from prober.endpoint.refusals import classify

LENGTH, BYTES, AUTH, RATE = RefusalReason.LENGTH, RefusalReason.BYTES, RefusalReason.AUTH, RefusalReason.RATE
OVERLOAD, NOT_FOUND = RefusalReason.OVERLOAD, RefusalReason.NOT_FOUND
SERVER, OTHER = RefusalReason.SERVER, RefusalReason.OTHER


def nested(message, **fields):
    return {"error": {"message": message, **fields}}


def flat(message, code=400, kind="BadRequestError"):
    return {"object": "error", "message": message, "type": kind, "param": None, "code": code}


def cloudflare(code, message):
    return {"result": None, "success": False, "errors": [{"code": code, "message": message}], "messages": []}


OVERFLOWS = {
    "openai": (
        400,
        nested(
            "This model's maximum context length is 128,000 tokens. However, your messages resulted in 130,010 tokens. "
            "Please reduce the length of the messages.",
            type="invalid_request_error",
            param="messages",
            code="context_length_exceeded",
        ),
        "context_length_exceeded",
        (128_000,),
        130_010,
    ),
    "openai-responses-frame": (
        200,
        {
            "type": "error",
            "sequence_number": 2,
            "error": {
                "type": "invalid_request_error",
                "code": "context_length_exceeded",
                "message": "Your input exceeds the context window of this model. Please adjust your input.",
                "param": "input",
            },
        },
        "context_length_exceeded",
        (),
        None,
    ),
    "vllm-at-least": (
        400,
        nested(
            "This model's maximum context length is 8192 tokens. However, your prompt contains at least 8193 input "
            "tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input "
            "prompt. (parameter=input_tokens, value=8193)",
            type="BadRequestError",
            param="input_tokens",
            code=400,
        ),
        "BadRequestError",
        (8192,),
        None,
    ),
    "vllm-requested": (
        400,
        nested(
            "This model's maximum context length is 8192 tokens. However, you requested 64 output tokens and your "
            "prompt contains at least 8129 input tokens, for a total of at least 8193 tokens."
        ),
        "",
        (8192,),
        None,
    ),
    "vllm-exactly-full": (
        400,
        nested("max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)", type="BadRequestError"),
        "BadRequestError",
        (),
        None,
    ),
    "vllm-passed": (
        400,
        nested(
            "You passed 9001 input tokens and requested 64 output tokens. However, the model's context length is only "
            "8192 tokens, resulting in a maximum input length of 8128 tokens."
        ),
        "",
        (8128, 8192),
        9001,
    ),
    "vllm-input-length": (
        400,
        nested("Input length (9001) exceeds model's maximum context length (8192)."),
        "",
        (8192,),
        9001,
    ),
    "vllm-decoder-prompt": (
        400,
        nested("The decoder prompt (length 9001) is longer than the maximum model length of 8192."),
        "",
        (8192,),
        9001,
    ),
    "sglang-tokenizer": (
        400,
        flat("The input (1048600 tokens) is longer than the model's context length (1048576 tokens)."),
        "BadRequestError",
        (1_048_576,),
        1_048_600,
    ),
    "sglang-pool": (
        400,
        flat("Input length (2999 tokens) exceeds the maximum allowed length (2042 tokens)", kind="BadRequest"),
        "BadRequest",
        (2042,),
        2999,
    ),
    "sglang-pool-frame": (
        200,
        {
            "error": flat(
                "Input length (700000 tokens) exceeds the maximum allowed length (681274 tokens). Use a shorter input "
                "or enable --allow-auto-truncate."
            )
        },
        "BadRequestError",
        (681_274,),
        700_000,
    ),
    "sglang-requested": (
        400,
        flat(
            "Requested token count exceeds the model's maximum context length of 256000 tokens. You requested a total "
            "of 256878 tokens: 31216 tokens from the input messages and 225662 tokens for the completion."
        ),
        "BadRequestError",
        (256_000,),
        31_216,
    ),
    "sglang-output-cap": (
        400,
        flat("max_completion_tokens is too large: 262144. This model supports at most 256000 completion tokens."),
        "BadRequestError",
        (),
        None,
    ),
    "sglang-disaggregated-capacity": (
        400,
        flat("Request 1 exceeds the maximum number of tokens: 3000 > 2048"),
        "BadRequestError",
        (2048,),
        3000,
    ),
    "sglang-native": (
        400,
        nested("The input (9 tokens) is longer than the model's context length (8 tokens)."),
        "",
        (8,),
        9,
    ),
    "sglang-router": (
        400,
        {
            "error": {
                "type": "Bad Request",
                "code": "decode_bad_request",
                "message": "The input (8999 tokens) is longer than the model's context length (8192 tokens).",
            }
        },
        "decode_bad_request",
        (8192,),
        8999,
    ),
    "tensorrt-default-max-tokens": (
        400,
        flat(
            "`default_max_tokens` (-93) must be greater than 0, `default_max_tokens` (-93) = max_seq_len (16385) - "
            "`splited_prompt_len` (16478) - `query_token_len` (0)"
        ),
        "BadRequestError",
        (16_385,),
        16_478,
    ),
    "tensorrt-max-num-tokens": (
        400,
        flat("The sum of prompt length (40000.0), query length (0) should not exceed max_num_tokens (32768)"),
        "BadRequestError",
        (32_768,),
        40_000,
    ),
    "tgi-inputs": (
        422,
        {"error": "`inputs` must have less than 4095 tokens. Given: 5001", "error_type": "validation"},
        "validation",
        (4095,),
        5001,
    ),
    "tgi-total": (
        422,
        {
            "error": "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4090 `inputs` tokens and 64 "
            "`max_new_tokens`",
            "error_type": "validation",
        },
        "validation",
        (4096,),
        4090,
    ),
    "llama-server": (
        400,
        {
            "error": {
                "code": 400,
                "message": "request (4095 tokens) exceeds the available context size (2048 tokens), try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 4095,
                "n_ctx": 2048,
            }
        },
        "exceed_context_size_error",
        (2048,),
        4095,
    ),
    "llama-cpp-python": (
        400,
        nested(
            "This model's maximum context length is 2048 tokens. However, you requested 4103 tokens (4095 in the "
            "messages, 8 in the completion). Please reduce the length of the messages or completion.",
            type="invalid_request_error",
            param="messages",
            code="context_length_exceeded",
        ),
        "context_length_exceeded",
        (2048,),
        4095,
    ),
    "anthropic": (
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "prompt is too long: 213462 tokens > 200000 maximum"},
            "request_id": "req_1",
        },
        "invalid_request_error",
        (200_000,),
        213_462,
    ),
    "anthropic-with-output": (
        400,
        nested("input length and `max_tokens` exceed context limit: 189136 + 20000 > 204648"),
        "",
        (204_648,),
        189_136,
    ),
    "gemini": (
        400,
        [nested("The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", code=400)],
        "400",
        (1_048_575,),
        1_196_265,
    ),
    "deepinfra": (
        400,
        nested("requested input length 40000 exceeds maximum input length 32767"),
        "",
        (32_767,),
        40_000,
    ),
    "workers-ai-3010": (
        413,
        cloudflare(
            3010,
            "AiError: The estimated number of input and maximum output tokens (35000) exceeded this model context "
            "window limit (24000).",
        ),
        "3010",
        (24_000,),
        None,
    ),
    "workers-ai-5021-plain": (
        413,
        b"5021: The estimated number of input and maximum output tokens (155740) exceeded this model context window "
        b"limit (128000)",
        "5021",
        (128_000,),
        None,
    ),
    "workers-ai-forbidden": (
        403,
        nested(
            "AiError: AiError: The estimated number of input and maximum output tokens (35000) exceeded this model "
            "context window limit (24000). (388540af-0000-4000-8000-000000000000)"
        ),
        "",
        (24_000,),
        None,
    ),
    "ollama": (
        400,
        {"error": "the prompt is longer than the context length currently available (4096)"},
        "",
        (4096,),
        None,
    ),
    "litellm": (
        400,
        nested("litellm.ContextWindowExceededError: ContextWindowExceededError: BadRequestError", code="400"),
        "400",
        (),
        None,
    ),
    "openrouter-raw": (
        200,
        nested(
            "Provider returned error",
            code=400,
            metadata={"raw": json.dumps(nested("x", code="context_length_exceeded"))},
        ),
        "400",
        (),
        None,
    ),
    "zai": (400, nested("tokens in request more than max tokens allowed", code="1261"), "1261", (), None),
    "zai-chinese": (400, nested("Prompt 超长"), "", (), None),
    "kimi": (
        400,
        nested("Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)"),
        "",
        (262_144,),
        None,
    ),
    "mistral": (
        400,
        flat("Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length"),
        "BadRequestError",
        (32_768,),
        65_673,
    ),
    "xai": (
        400,
        {
            "code": "invalid-argument",
            "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        },
        "invalid-argument",
        (131_072,),
        537_812,
    ),
    "copilot": (400, nested("prompt token count of 50000 exceeds the limit of 32768"), "", (32_768,), 50_000),
    "cerebras": (
        413,
        nested("Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192"),
        "",
        (8192,),
        9000,
    ),
    "dashscope": (400, nested("Range of input length should be [1, 30720]"), "", (30_720,), None),
    "bedrock": (400, {"message": "Input is too long for requested model."}, "", (), None),
    "minimax": (400, nested("invalid params, context window exceeds limit (2013)"), "", (), None),
    "typographic-apostrophe": (
        400,
        nested("The input (10 tokens) is longer than the model\u2019s context length (8 tokens)."),
        "",
        (8,),
        10,
    ),
    "separators": (
        400,
        nested(
            "This model's maximum context length is 1_048_576 tokens. However, you requested 1,050,000 tokens "
            "(1,049,936 in the prompt; 64 for the completion)."
        ),
        "",
        (1_048_576,),
        1_049_936,
    ),
    "unknown-413-text-on-tokens": (413, nested("That is more tokens than we take"), "", (), None),
    "code-without-text": (400, {"error": {"code": "context_length_exceeded"}}, "context_length_exceeded", (), None),
    "python-repr": (
        200,
        b"{'error': {'message': 'The input (10 tokens) is longer than the model\\'s context length (8 tokens).', "
        b"'status': 400, 'code': 'prefill_bad_request'}}",
        "prefill_bad_request",
        (),
        None,
    ),
    "python-repr-mixed-quotes": (
        200,
        b"""{'error': {"message": "The input (10 tokens) is longer than the model's context length (8 tokens)", """
        b""""status":400}}""",
        "",
        (8,),
        10,
    ),
}

OTHERS = {
    "vllm-key": (401, {"error": "Unauthorized"}, AUTH, ""),
    "llama-server-key": (
        401,
        nested("Invalid API Key", type="authentication_error", code=401),
        AUTH,
        "authentication_error",
    ),
    "llama-cpp-python-key": (401, {"detail": "Invalid API key"}, AUTH, ""),
    "revoked-key": (403, nested("This key was revoked"), AUTH, ""),
    "proxy-key": (407, b"", AUTH, ""),
    "cloudflare-key": (400, cloudflare(10000, "Authentication error"), AUTH, "10000"),
    "cloudflare-not-allowed": (403, cloudflare(5018, "This account is not allowed to access this model"), AUTH, "5018"),
    "key-in-json-string": (400, "Incorrect API key provided", AUTH, ""),
    "vllm-model": (
        404,
        nested("The model `x` does not exist.", type="NotFoundError", code=404),
        NOT_FOUND,
        "NotFoundError",
    ),
    "transformers-model": (400, {"detail": "Server is pinned to 'a', but 'b' was requested"}, NOT_FOUND, ""),
    "litellm-model": (400, nested("Invalid model name passed in model=x", code="400"), NOT_FOUND, "400"),
    "openai-model": (400, nested("", code="model_not_found"), NOT_FOUND, "model_not_found"),
    "cloudflare-model": (400, cloudflare(5007, "No such model @cf/x or task"), NOT_FOUND, "5007"),
    "route": (404, b"<html><body>Not Found</body></html>", NOT_FOUND, ""),
    "gone": (410, {}, NOT_FOUND, ""),
    "openai-rate": (
        429,
        nested(
            "Request too large for gpt-x in organization o on tokens per min (TPM): Limit 30000, Requested 40000. "
            "The input or output tokens must be reduced. maximum context length is 5",
            type="tokens",
            code="rate_limit_exceeded",
        ),
        RATE,
        "rate_limit_exceeded",
    ),
    "openai-quota": (
        429,
        nested("You exceeded your current quota", code="insufficient_quota"),
        RATE,
        "insufficient_quota",
    ),
    "throttled-400": (400, {"message": "ThrottlingException: prompt is too long to throttle"}, RATE, ""),
    "anthropic-rate": (429, nested("Slow down", type="rate_limit_error"), RATE, "rate_limit_error"),
    "credits": (402, nested("Insufficient credits", code=402), RATE, "402"),
    "cloudflare-neurons": (429, cloudflare(3036, "you have used up your daily free allocation"), RATE, "3036"),
    "plain-429": (429, b"", RATE, ""),
    "tgi-overloaded": (429, {"error": "Model is overloaded", "error_type": "overloaded"}, OVERLOAD, "overloaded"),
    "anthropic-overloaded": (529, nested("Overloaded", type="overloaded_error"), OVERLOAD, "overloaded_error"),
    "plain-529": (529, b"", OVERLOAD, ""),
    "sglang-queue": (503, flat("The request queue is full.", 503, "503"), OVERLOAD, "503"),
    "sglang-queue-frame": (200, {"error": flat("The request queue is full.", None, None)}, OVERLOAD, ""),
    "sglang-waiting": (503, flat("Request waiting timeout reached.", 503, "503"), OVERLOAD, "503"),
    "cloudflare-busy": (429, cloudflare(3040, "Capacity temporarily exceeded, please try again."), OVERLOAD, "3040"),
    "cloudflare-timeout": (408, cloudflare(3007, "Timeout"), OVERLOAD, "3007"),
    "gateway-timeout": (504, b"<html><title>504 Gateway Time-out</title></html>", OVERLOAD, ""),
    "request-timeout": (408, b"", OVERLOAD, ""),
    "anthropic-bytes": (
        413,
        nested("Request exceeds the maximum size", type="request_too_large"),
        BYTES,
        "request_too_large",
    ),
    "cloudflare-bytes": (413, cloudflare(3006, "Request is too large"), BYTES, "3006"),
    "nginx-bytes": (413, b"<html><head><title>413 Request Entity Too Large</title></head></html>", BYTES, ""),
    "axum-bytes": (400, b"Failed to buffer the request body: length limit exceeded", BYTES, ""),
    "express-bytes": (500, {"message": "request entity too large"}, BYTES, ""),
    "openai-characters": (
        400,
        nested("Invalid 'messages[0].content': string too long.", code="string_above_max_length"),
        BYTES,
        "string_above_max_length",
    ),
    "silent-413": (413, b"", BYTES, ""),
    "tgi-generation": (
        424,
        {"error": "Request failed during generation", "error_type": "generation"},
        SERVER,
        "generation",
    ),
    "tgi-incomplete": (
        500,
        {"error": "Incomplete generation", "error_type": "incomplete_generation"},
        SERVER,
        "incomplete_generation",
    ),
    "llama-server-shared-pool": (
        500,
        nested("Context size has been exceeded.", code=500, type="server_error"),
        SERVER,
        "server_error",
    ),
    "sglang-checksum": (
        500,
        flat("KV checksum mismatch req=1 bootstrap_room=2", 500, "InternalServerError"),
        SERVER,
        "InternalServerError",
    ),
    "plain-500": (500, b"Internal Server Error", SERVER, ""),
    "bad-gateway": (502, b"<html>502 Bad Gateway</html>", SERVER, ""),
    "cloudflare-edge": (524, b"error code: 524", SERVER, ""),
    "transformers-dead": (
        503,
        {"detail": "CB worker died during request 1: No requests can be scheduled and no requests can be offloaded."},
        SERVER,
        "",
    ),
    "vllm-dead": (503, nested("EngineCore encountered an issue. EngineDeadError: engine is dead"), SERVER, ""),
    "frame-without-a-status": (200, {"error": {"message": "something broke"}}, SERVER, ""),
    "frame-with-its-own-status": (200, {"error": {"message": "something broke", "status_code": 503}}, OVERLOAD, ""),
    "openrouter-upstream": (200, nested("Upstream error from X", code=400), OTHER, "400"),
    "python-repr-status": (200, b"""{'error': {"message": "Decode server failed","status":503}}""", OVERLOAD, ""),
    "workers-ai-null": (
        400,
        {
            "error": {
                "code": "invalid_prompt",
                "message": "AiError: AiError: 'NoneType' object has no attribute 'startswith' (388540af-1)",
            }
        },
        OTHER,
        "invalid_prompt",
    ),
    "cloudflare-schema": (
        400,
        cloudflare(5006, "AiError: Error: required properties at '/' are 'prompt'"),
        OTHER,
        "5006",
    ),
    "cloudflare-incomplete": (400, cloudflare(3003, "Incomplete request"), OTHER, "3003"),
    "cloudflare-method": (405, cloudflare(5019, "Method not allowed"), OTHER, "5019"),
    "cloudflare-no-model": (404, cloudflare(3042, "gone"), NOT_FOUND, "3042"),
    "transformers-fields": (422, {"detail": "Unexpected fields in the request: {'cache_salt'}"}, OTHER, ""),
    "fastapi-validation": (
        422,
        {"detail": [{"loc": ["body"], "msg": "Field required", "type": "missing", "input": "prompt is too long"}]},
        OTHER,
        "missing",
    ),
    "redirect": (302, b"", OTHER, ""),
    "empty-400": (400, b"", OTHER, ""),
    "number-body": (400, b"17", OTHER, ""),
}


def encoded(body):
    return body if isinstance(body, bytes) else json.dumps(body).encode()


@pytest.mark.parametrize(("status", "body", "code", "limits", "tokens"), OVERFLOWS.values(), ids=OVERFLOWS.keys())
def test_refusals_for_length_are_recognised_with_their_numbers(status, body, code, limits, tokens):
    """Every documented length rejection is LENGTH, with the limits and the exact count that it states."""
    refusal = classify(status, encoded(body))

    assert (refusal.reason, refusal.code, refusal.stated_limits, refusal.stated_tokens) == (
        LENGTH,
        code,
        limits,
        tokens,
    )


@pytest.mark.parametrize(("status", "body", "reason", "code"), OTHERS.values(), ids=OTHERS.keys())
def test_other_refusals_are_told_apart_and_state_no_limit(status, body, reason, code):
    """What was not refused for its length has another reason, and no number of it is taken for a token limit."""
    refusal = classify(status, encoded(body))

    assert (refusal.reason, refusal.code) == (reason, code)
    assert (refusal.stated_limits, refusal.stated_tokens) == ((), None)


@pytest.mark.parametrize("in_stream", [False, True])
def test_the_place_of_the_error_is_kept(in_stream):
    """A refusal says whether it came as a frame inside a stream."""
    assert classify(200, b'{"error":"x"}', in_stream=in_stream).in_stream is in_stream


@pytest.mark.parametrize(
    "code",
    ["a sentence of someone else's text", "x" * 65, "", "-leading", "two\nlines", {"deep": "text"}, True, None],
)
def test_only_identifiers_become_codes(code):
    """A code that is no short identifier is dropped whole, never cut down to something of the peer's text."""
    assert classify(400, encoded({"error": {"code": code}})).code == ""


@pytest.mark.parametrize(
    "wrap", [lambda text: {"error": {"message": text, "code": "c1"}}, lambda text: {"detail": text}]
)
def test_no_text_of_the_peer_survives(wrap):
    """Nothing of an error's message stands in the refusal's repr."""
    refusal = classify(400, encoded(wrap("prompt is too long for our customer Heloise Abelard of 12 Rue de Seine")))

    assert refusal.reason is LENGTH
    assert not any(word in repr(refusal) for word in ("Heloise", "Abelard", "Rue", "customer"))


def test_text_beyond_the_bound_is_not_searched():
    """Patterns see the first 16,384 characters of message text, so that a huge body costs no time."""
    padding = "x " * 8192

    assert classify(400, encoded(nested(padding + "prompt is too long"))).reason is OTHER
    assert classify(400, encoded(nested("prompt is too long" + padding))).reason is LENGTH
    assert classify(400, b"prompt is too long" + b"x" * 5_000_000).reason is LENGTH


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["error", "errors", "message", "detail", "code", "type", "status", "n_ctx", "metadata", "raw"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(
    status=st.integers(0, 999), body=st.binary(max_size=200) | JSON_VALUES.map(lambda value: json.dumps(value).encode())
)
def test_any_body_is_classified(status, body):
    """No body makes the classification raise, and its code is always a bounded identifier."""
    refusal = classify(status, body)

    assert len(refusal.code) <= 64
    assert refusal.code.isascii()
    assert not any(character.isspace() for character in refusal.code)
    assert refusal.stated_limits == tuple(sorted(set(refusal.stated_limits)))


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"error":' * 50_000, b"1" * 50_000, b'{"n_ctx":1e999}', b'"\\ud800"']
)
def test_hostile_json_is_classified_by_status(body):
    """Nesting without end, endless digits, infinities and lone surrogates leave the status to decide."""
    assert classify(503, body).reason is OVERLOAD
