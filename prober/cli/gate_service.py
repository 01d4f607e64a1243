"""A rollout's run at a service: started or joined, followed over restarts of the service, within a time."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from prober.domain.errors import ConfigError, ProberError
from prober.domain.job import JobState
from prober.endpoint.api_client import ApiAnswer
from prober.report.harmless import harmless

RUNS = "/api/v1/runs"
POLL_SECONDS = 2.0
MOST_WAIT_SECONDS = 15.0
"""Between two questions to a service that is away, and however long it asks us to wait."""

_ACCEPTED, _OK, _NOT_FOUND = 202, 200, 404
_REFUSED = frozenset({401, 403})
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_RUN_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
_MOST_WORDS = 300

Detail = Mapping[str, object]


class UndecidedError(ProberError):
    """There is no verdict: exit code 3, never 0."""


class Service(Protocol):
    """`endpoint.api_client.ApiClient`."""

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        document: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ApiAnswer:
        """Ask once."""
        ...


class ServiceRun:
    """One run at a service, as a pipeline sees it.

    Args:
        service: whom to ask.
        seconds: for everything, from now on.
        monotonic: the clock.
        tell: takes a line on what is going on.
        sleep: waits.
    """

    def __init__(
        self,
        service: Service,
        seconds: float,
        *,
        monotonic: Callable[[], float],
        tell: Callable[[str], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._service = service
        self._seconds = seconds
        self._monotonic = monotonic
        self._until = monotonic() + seconds
        self._tell = tell
        self._sleep = sleep
        self._trouble = ""
        self._started: str | None = None

    async def start(self, order: Mapping[str, object], key: str) -> Detail:
        """Queue the run, or join the one of this idempotency key; asked again it is the same run.

        Raises:
            ConfigError: the service refuses the order.
            UndecidedError: no answer in time, or the token is refused.
        """
        return await self._until_told("POST", RUNS, _ACCEPTED, document=order, headers={"Idempotency-Key": key})

    async def verdict(self, run_id: str) -> Detail:
        """Follow a run to its verdict.

        Raises:
            ConfigError: the service knows no such run.
            UndecidedError: no verdict in time, or none to come.
        """
        self._started = run_id
        shown = ""
        while True:
            detail = await self._until_told("GET", f"{RUNS}/{run_id}", _OK)
            state = harmless(str(detail.get("state")))
            if state != shown:
                self._tell(f"run {run_id}: {state}")
                shown = state
            if detail.get("verdict") is not None:
                return detail
            if state in {JobState.CANCELLED.value, JobState.MISSED.value, JobState.DONE.value}:
                note = harmless(str(detail.get("note") or ""))[:_MOST_WORDS]
                raise UndecidedError(f"run {run_id} was {state} without a verdict{f': {note}' if note else ''}")
            await self._pause(POLL_SECONDS)

    async def report(self, run_id: str, form: str, fail_on: str) -> str:
        """Fetch the run's report in a format.

        Raises:
            ProberError: the service has none, of this run or at all.
        """
        query = {"format": form, "fail_on": fail_on}
        answer = await self._service.ask("GET", f"{RUNS}/{run_id}/report", query=query)
        if answer.status != _OK:
            raise ProberError(f"the service gives no {form} report of run {run_id}: {_said(answer)}")
        return answer.body.decode("utf-8", "replace")

    async def _until_told(
        self,
        method: str,
        path: str,
        status: int,
        *,
        document: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Detail:
        """Ask until there is an answer to be had; a service that restarts is waited for."""
        wait = 1.0
        while True:
            answer = await self._service.ask(method, path, document=document, headers=headers)
            if answer.status == status:
                return self._detail(answer)
            _require_passing(answer)
            if self._trouble != (trouble := _said(answer)):
                self._trouble = trouble
                self._tell(f"waiting for the service: {trouble}")
            await self._pause(min(max(wait, answer.retry_after or 0.0), MOST_WAIT_SECONDS))
            wait = min(wait * 2, MOST_WAIT_SECONDS)

    def _detail(self, answer: ApiAnswer) -> Detail:
        detail = answer.document()
        if not _RUN_ID.fullmatch(str(detail.get("id", ""))) or "verdict" not in detail:
            raise ConfigError("what answers at this address is no prober service")
        if self._trouble:
            self._trouble = ""
            self._tell("the service is back")
        return detail

    async def _pause(self, seconds: float) -> None:
        left = self._until - self._monotonic()
        if left <= 0.0:
            raise UndecidedError(self._out_of_time())
        await self._sleep(min(seconds, left))

    def _out_of_time(self) -> str:
        """A run that was started goes on: whoever comes back can have its verdict."""
        if self._started is None:
            return f"the service could not be reached within {self._seconds:g} s: {self._trouble or 'no answer'}"
        away = f" ({self._trouble})" if self._trouble else ""
        return f"no verdict within {self._seconds:g} s{away}; the run goes on: prober gate --run {self._started}"


def _require_passing(answer: ApiAnswer) -> None:
    """Tell what passes by itself from what does not."""
    if answer.status in _REFUSED:
        raise UndecidedError(f"unauthorised: {_said(answer)}")
    if answer.status is None or answer.status in _PASSING:
        return
    if answer.status == _NOT_FOUND and not answer.document().get("type"):
        raise ConfigError("nothing at this address speaks the prober's API")
    raise ConfigError(f"the service refuses this: {_said(answer)}")


def _said(answer: ApiAnswer) -> str:
    """In a line: our own words, or those of the service's problem document (RFC 9457)."""
    if answer.status is None:
        return answer.fault
    words = harmless(str(answer.document().get("detail") or ""))[:_MOST_WORDS]
    return f"HTTP {answer.status}{f', {words}' if words else ''}"
