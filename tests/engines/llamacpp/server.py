"""Starts and stops the real llama.cpp server on loopback."""

import contextlib
import json
import pathlib
import subprocess
from collections.abc import Iterator, Sequence

HERE = pathlib.Path(__file__).parent
PLACE = HERE.parents[2] / ".engines" / "llamacpp"
WEIGHTS = PLACE / "SmolLM2-135M-Instruct.F16.gguf"
MODEL = "smollm2-135m"
STOP_SECONDS = 20


def is_installed() -> bool:
    """True once `make engine-llamacpp-install` has run."""
    return (PLACE / "installed").exists()


@contextlib.contextmanager
def llama_server(context_tokens: int, keys: Sequence[str], log: pathlib.Path) -> Iterator[str]:
    """Serve one slot of that context; yield the OpenAI base URL. Its own log goes to `log`."""
    command = [str(PLACE / "venv/bin/python"), str(HERE / "serve.py"), "--weights", str(WEIGHTS), "--alias", MODEL]
    command += ["--context", str(context_tokens), "--keys", ",".join(keys)]
    with log.open("wb") as sink:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sink)
        try:
            yield f"{_address(process, log)}/v1"
        finally:
            _stop(process)


def _address(process: "subprocess.Popen[bytes]", log: pathlib.Path) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        with contextlib.suppress(ValueError):
            ready = json.loads(line)
            return str(ready["url"])
    raise RuntimeError(f"the llama.cpp server ended before it was ready; see {log}")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=STOP_SECONDS)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
