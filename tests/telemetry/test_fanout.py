"""Several kinds of telemetry as one that never raises."""

import pytest

from prober.domain.probe import Wave
from prober.domain.verdict import Spending
from prober.telemetry.fanout import Fanout
from tests.support import evidence, reports

RUN, WAVE, COST = reports.a_run(), Wave(probes=(), purpose="wait"), Spending(requests=1)
CALLS = {
    "run_started": (RUN, COST),
    "budget_short": (RUN, (reports.a_shortage(),)),
    "wave_started": (RUN, WAVE, COST),
    "probe_judged": (RUN, evidence.a_judgement(), COST),
    "run_ended": (reports.a_report(),),
    "database_awaited": (RUN, "The database is gone.", 60.0),
    "database_back": (RUN, 3.0),
    "internal_error": ("ladder", ValueError()),
}


class Recorder:
    """A member that writes down what it is told."""

    def __init__(self) -> None:
        self.told = []

    def __getattr__(self, name: str):  # noqa: ANN204  (any method of the port)
        """Stand in for every method."""
        return lambda *arguments: self.told.append((name, arguments))


class Broken:
    """A member that always fails."""

    def __getattr__(self, name: str):  # noqa: ANN204  (any method of the port)
        """Stand in for every method."""

        def fail(*_: object) -> None:
            raise OSError(name)

        return fail


every_call = pytest.mark.parametrize(("name", "arguments"), CALLS.items(), ids=CALLS.keys())


@every_call
def test_every_member_is_told(name: str, arguments: tuple):
    """Each call reaches each member unchanged."""
    first, second = Recorder(), Recorder()

    getattr(Fanout([first, second]), name)(*arguments)

    assert first.told == second.told == [(name, arguments)]


@every_call
def test_a_broken_member_stops_nobody(name: str, arguments: tuple):
    """A member's failure is not raised; the others are told what happened and that a member failed."""
    before, after = Recorder(), Recorder()

    getattr(Fanout([before, Broken(), after]), name)(*arguments)

    for member in (before, after):
        assert (name, arguments) in member.told
        (fault,) = [told for told in member.told if told[0] == "internal_error" and told[1][0] == "telemetry"]
        assert isinstance(fault[1][1], OSError)


@every_call
def test_nothing_is_raised_when_all_are_broken(name: str, arguments: tuple):
    """With every member broken, and with none, the run goes on."""
    getattr(Fanout([Broken(), Broken()]), name)(*arguments)
    getattr(Fanout([]), name)(*arguments)


def test_an_interrupt_is_no_failure_of_a_member():
    """What ends the process is passed on."""

    class Interrupted(Recorder):
        def run_ended(self, report: object) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Fanout([Interrupted()]).run_ended(reports.a_report())
