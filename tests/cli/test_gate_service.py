"""Following a run at a service, over everything that may befall a service."""

import json

import pytest

from prober.cli.gate_service import RUNS, ServiceRun, UndecidedError
from prober.domain.errors import ConfigError, ProberError
from prober.endpoint.api_client import ApiAnswer

ORDER = {"target": "glm", "trigger": "rollout", "rollout": {"revision": "42"}}


def answer(status: int, **fields: object) -> ApiAnswer:
    return ApiAnswer(status=status, body=json.dumps(fields).encode())


def detail(verdict: str | None = None, state: str = "running", status: int = 200, **fields: object) -> ApiAnswer:
    return answer(status, id="job-1", state=state, verdict=verdict, **fields)


AWAY = ApiAnswer(status=None, fault="connection refused")
QUEUED = detail(state="queued", status=202)


class Scripted:
    """A service with its answers in order, the last one for good; and the time that goes by meanwhile."""

    def __init__(self, *answers: ApiAnswer) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str, dict[str, object]]] = []
        self.told: list[str] = []
        self.seconds = 0.0
        self.waits: list[float] = []

    async def ask(self, method: str, path: str, **more: object) -> ApiAnswer:
        self.asked.append((method, path, more))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.seconds += seconds

    def run(self, seconds: float = 600.0) -> ServiceRun:
        return ServiceRun(self, seconds, monotonic=lambda: self.seconds, tell=self.told.append, sleep=self.sleep)


async def test_a_run_is_started_with_its_key_and_followed_to_its_verdict():
    """Each state is told once."""
    service = Scripted(QUEUED, detail(state="queued"), detail(), detail(), detail("clean", state="done"))
    run = service.run()
    started = await run.start(ORDER, "build-17")
    ended = await run.verdict(str(started["id"]))

    assert ended["verdict"] == "clean"
    assert service.told == ["run job-1: queued", "run job-1: running", "run job-1: done"]
    method, path, more = service.asked[0]
    assert (method, path, more["document"]) == ("POST", RUNS, ORDER)
    assert more["headers"] == {"Idempotency-Key": "build-17"}


@pytest.mark.parametrize("trouble", [AWAY, *(answer(status) for status in (408, 429, 500, 502, 503, 504))])
async def test_what_passes_is_waited_for(trouble: ApiAnswer):
    """A restart, an overload, a proxy without its service: asked again with the same key, and told once."""
    service = Scripted(trouble, trouble, QUEUED, trouble, detail("violation", state="done"))
    run = service.run()
    await run.start(ORDER, "k")
    ended = await run.verdict("job-1")

    assert ended["verdict"] == "violation"
    assert [line.partition(":")[0] for line in service.told[:2]] == ["waiting for the service", "the service is back"]
    assert {str(more.get("headers")) for method, _, more in service.asked if method == "POST"} == {
        "{'Idempotency-Key': 'k'}"
    }


async def test_the_service_says_how_long_to_wait():
    """Retry-After is obeyed, within reason."""
    service = Scripted(
        ApiAnswer(status=429, retry_after=7.0), ApiAnswer(status=503, retry_after=9_999.0), detail("clean")
    )
    await service.run().verdict("job-1")

    assert service.waits == [7.0, 15.0]


async def test_a_service_that_never_answers_is_undecided():
    """In time, with what was the matter; nothing was started as far as is known."""
    service = Scripted(AWAY)

    with pytest.raises(UndecidedError, match=r"could not be reached within 60 s: connection refused"):
        await service.run(60.0).start(ORDER, "k")
    assert service.seconds == pytest.approx(60.0)


async def test_out_of_time_is_undecided_and_says_how_to_come_back():
    """The run goes on; never a verdict of our own making."""
    service = Scripted(detail())

    with pytest.raises(UndecidedError, match="no verdict within 30 s; the run goes on: prober gate --run job-1"):
        await service.run(30.0).verdict("job-1")
    assert service.seconds == pytest.approx(30.0)


async def test_no_time_at_all_asks_once():
    """A gate that only looks gets what is there."""
    assert (await Scripted(detail("clean", state="done")).run(0.0).verdict("job-1"))["verdict"] == "clean"
    with pytest.raises(UndecidedError):
        await Scripted(detail()).run(0.0).verdict("job-1")


@pytest.mark.parametrize("state", ["cancelled", "missed", "done"])
async def test_a_run_that_ends_without_a_verdict_is_undecided(state: str):
    """Somebody cancelled it: that is no clean result; its note is told, harmless."""
    with pytest.raises(UndecidedError, match=r"was \w+ without a verdict: cancelled by \\x1b\[2Jme"):
        await Scripted(detail(state=state, note="cancelled by \x1b[2Jme")).run().verdict("job-1")


@pytest.mark.parametrize("status", [401, 403])
async def test_a_token_that_is_refused_is_undecided(status: int):
    """Told at once, in the service's words."""
    with pytest.raises(UndecidedError, match=f"unauthorised: HTTP {status}, It needs the scope run"):
        await Scripted(answer(status, detail="It needs the scope run.")).run().start(ORDER, "k")


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (answer(422, type="urn:isolation-prober:problem:invalid", detail="body.target: is no target"), "is no target"),
        (answer(404, type="urn:isolation-prober:problem:not-found", detail="There is no such run."), "no such run"),
        (ApiAnswer(status=404, body=b"<html>404</html>"), "nothing at this address speaks the prober's API"),
        (ApiAnswer(status=301), "the service refuses this: HTTP 301"),
        (ApiAnswer(status=202, body=b"<html>welcome</html>"), "is no prober service"),
        (answer(202, id="../../x", verdict=None), "is no prober service"),
        (ApiAnswer(status=202, body=b"[1]"), "is no prober service"),
    ],
)
async def test_what_does_not_pass_is_the_callers_mistake(refusal: ApiAnswer, words: str):
    """Wrong orders, wrong addresses: told at once, not waited for."""
    service = Scripted(refusal)

    with pytest.raises(ConfigError, match=words):
        await service.run().start(ORDER, "k")
    assert len(service.asked) == 1


async def test_reports_are_fetched_in_a_format():
    """As the service has them; an older service that has none costs the report, not the verdict."""
    service = Scripted(ApiAnswer(status=200, body=b"<xml/>"))

    assert await service.run().report("job-1", "junit", "suspect") == "<xml/>"
    assert service.asked[0][1:] == (f"{RUNS}/job-1/report", {"query": {"format": "junit", "fail_on": "suspect"}})
    with pytest.raises(ProberError, match="gives no html report of run job-1: HTTP 404"):
        await Scripted(ApiAnswer(status=404)).run().report("job-1", "html", "violation")
