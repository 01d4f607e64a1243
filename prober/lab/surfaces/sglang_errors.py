"""Error bodies as SGLang's HTTP server writes them (entrypoints/openai/serving_chat.py and utils/auth.py, 0.5.19)."""

from prober.lab.events import Done, Rejection, Stage
from prober.lab.surfaces.frames import DONE_FRAME, data_frame, json_bytes
from prober.lab.surfaces.shape import Refused

STUB_PROMPT_TOKENS = 1
"""What a stream counts for a prompt that the scheduler has replaced by its one-token stub."""

NGINX_TOO_LARGE = (
    b"<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n"
    b"<center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)


def flat_error(message: str, error_type: str, code: int) -> dict[str, object]:
    """SGLang's error object: flat, with `object: error` as its mark."""
    return {"object": "error", "message": message, "type": error_type, "param": None, "code": code}


def refused(rejection: Rejection) -> Refused:
    """Render the engine's own refusals flat, the router's nested."""
    if rejection.stage is Stage.ROUTER:
        body: dict[str, object] = {
            "error": {"message": rejection.message, "type": rejection.error_type, "code": rejection.status}
        }
    else:
        body = flat_error(rejection.message, rejection.error_type, rejection.status)
    return Refused(status=rejection.status, body=json_bytes(body))


def error_frame(rejection: Rejection) -> bytes:
    """Inside a stream the flat object is nested under `error`."""
    return data_frame({"error": flat_error(rejection.message, rejection.error_type, rejection.status)})


def stub_usage() -> Done:
    """Counts that a stream reports for a prompt the scheduler refused."""
    return Done(finish_reason="abort", prompt_tokens=STUB_PROMPT_TOKENS, completion_tokens=0, cached_tokens=None)


def terminated(*frames: bytes) -> bytes:
    """Join frames and end the stream."""
    return b"".join((*frames, DONE_FRAME))


def unauthorised() -> Refused:
    """Answer for a missing or unknown key."""
    return Refused(status=401, body=json_bytes({"error": "Unauthorized"}))


def invalid(message: str) -> Refused:
    """Answer for a request that fails validation."""
    return Refused(status=400, body=json_bytes(flat_error(message, "BadRequestError", 400)))


def too_many_bytes() -> Refused:
    """Answer of the reverse proxy in front: the engine itself sets no limit, so the body is the proxy's page."""
    return Refused(status=413, body=NGINX_TOO_LARGE, content_type="text/html")


def busy() -> Refused:
    """Answer for a full request queue."""
    return Refused(status=503, body=json_bytes(flat_error("The request queue is full.", "503", 503)))
