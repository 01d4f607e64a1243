"""Answers Flagger's webhooks by the verdict of a run: for `confirm-promotion` at /promote, for `rollback` at /rollback.

Flagger sends no credentials and its own body, so this stands between it and the prober's API, in the same image:
`python flagger_gate.py`, with PROBER_URL and PROBER_TOKEN_FILE (scopes run and read) in the environment. It keeps no
state: a run's idempotency key is the canary's name and the checksum of what is rolled out.

    200  /promote: the verdict is clean        /rollback: something was found
    409  /promote: anything else, not yet too  /rollback: nothing was found, not yet too

Flagger copies bodies of refusals into Kubernetes events: ours hold a word of our own and the run's id.
"""

import http
import http.client
import http.server
import json
import os
import pathlib
import re
import urllib.error
import urllib.request

PORT = 8788
ATTEMPTS = 3
"""Runs for one checksum: one that ended without a verdict is repeated, one that found something never is."""

SECONDS = 3.0
"""For each request to the API: three of them fit into the 10 s that Flagger waits."""

MOST_BYTES = 65_536
FOUND = frozenset({"violation", "suspect"})
ENDED = frozenset({"done", "cancelled", "missed"})
_UNSAFE = re.compile(r"[^A-Za-z0-9._/-]")


class UnusableError(Exception):
    """What Flagger sent cannot be acted on."""


def order_of(event: object) -> tuple[dict[str, object], str]:
    """Turn a webhook's body into what to ask the API for, and the key to ask by.

    Raises:
        UnusableError: no target in its metadata, or no checksum.
    """
    if not isinstance(event, dict) or not isinstance(event.get("metadata"), dict):
        raise UnusableError("a webhook of Flagger has metadata")
    facts = {name: str(event.get(name, ""))[:200] for name in ("name", "namespace", "checksum")}
    target = event["metadata"].get("target")
    if not target or not facts["checksum"]:
        raise UnusableError("metadata.target and checksum must be given")
    key = _UNSAFE.sub("_", f"flagger/{facts['namespace']}/{facts['name']}/{facts['checksum']}")[-120:]
    return {"target": target, "trigger": "rollout", "rollout": facts}, key


def ask(order: dict[str, object], key: str) -> dict[str, object]:
    """Start the run of a key, or learn how it stands; the latest attempt where earlier ones said nothing.

    Raises:
        OSError: the API cannot be reached, or refuses.
        ValueError: what answers is no prober.
    """
    run: dict[str, object] = {}
    for attempt in range(ATTEMPTS):
        run = _post(order, f"{key}/{attempt}")
        if run["state"] not in ENDED or run["verdict"] in {"clean", *FOUND}:
            break
    return run


def answer_to(path: str, run: dict[str, object]) -> tuple[int, str]:
    """Say what Flagger is told: 200 for "go on and do it", 409 for "not (yet)"."""
    verdict = str(run["verdict"] or run["state"])
    does = verdict == "clean" if path == "/promote" else verdict in FOUND
    return (http.HTTPStatus.OK if does else http.HTTPStatus.CONFLICT), f"{verdict}: run {run['id']}"


def _post(order: dict[str, object], key: str) -> dict[str, object]:
    token = pathlib.Path(os.environ["PROBER_TOKEN_FILE"]).read_text(encoding="utf-8").strip()
    request = urllib.request.Request(  # noqa: S310 - the operator's own address
        os.environ["PROBER_URL"].rstrip("/") + "/api/v1/runs",
        data=json.dumps(order).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Idempotency-Key": key},
    )
    with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310 - likewise
        run = json.loads(response.read(MOST_BYTES))
    if not isinstance(run, dict) or not {"id", "state", "verdict"} <= set(run):
        raise ValueError("no run")
    return run


class Gate(http.server.BaseHTTPRequestHandler):
    """One webhook."""

    timeout = SECONDS

    def do_GET(self) -> None:
        """Say that this process answers."""
        self._say(http.HTTPStatus.OK, "gate")

    def do_POST(self) -> None:
        """Answer a webhook; what goes wrong is a refusal, never a pass."""
        if self.path not in {"/promote", "/rollback"}:
            self._say(http.HTTPStatus.NOT_FOUND, "post to /promote or /rollback")
            return
        try:
            length = min(int(self.headers.get("Content-Length", 0)), MOST_BYTES)
            order, key = order_of(json.loads(self.rfile.read(length)))
            status, text = answer_to(self.path, ask(order, key))
        except UnusableError as error:
            status, text = http.HTTPStatus.BAD_REQUEST, str(error)
        except urllib.error.HTTPError as error:
            status, text = http.HTTPStatus.BAD_GATEWAY, f"the prober's API answers {error.code}"
        except (OSError, ValueError, http.client.HTTPException) as error:
            status, text = http.HTTPStatus.BAD_GATEWAY, f"no verdict to be had ({type(error).__name__})"
        self._say(status, text)

    def _say(self, status: int, text: str) -> None:
        body = f"{text}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serve until ended."""
    port = int(os.environ.get("PORT", PORT))
    http.server.ThreadingHTTPServer(("", port), Gate).serve_forever()


if __name__ == "__main__":
    main()
