"""What a scenario is declared to be."""

from prober.domain.fault_kind import FaultKind
from prober.plan.stage import Stage, Waves, scenario
from tests.support.scripted import stage_of, target_of


def test_a_declared_scenario_plays_as_its_generator_does_and_has_its_kinds_in_order():
    """The declaration adds the kinds of fault, the likeliest first, and changes nothing of what is sent."""
    seen: list[Stage] = []

    @scenario(FaultKind.LIVE_WRITER, FaultKind.STALE_STATE)
    def nothing(stage: Stage) -> Waves:
        seen.append(stage)
        yield from ()
        return ("nothing was sent",)

    stage = stage_of(target_of())
    playing = nothing(stage)

    assert nothing.kinds == (FaultKind.LIVE_WRITER, FaultKind.STALE_STATE)
    assert seen == []
    try:
        next(playing)
    except StopIteration as end:
        assert end.value == ("nothing was sent",)  # noqa: PT017 - how a generator returns
    assert seen == [stage]
