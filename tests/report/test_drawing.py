"""From facts to pictures."""

import dataclasses
import datetime as dt

import pytest

from prober.domain.outcome import Outcome
from prober.domain.target import PhysicalBound
from prober.domain.verdict import ProbeSummary, RunReport
from prober.report.drawing import MOST_ROWS, floor_line, limit_marks, pictures_of
from prober.report.facts import facts_of
from prober.report.pictures.prefill import Point
from prober.stats.prefill import SLACK
from tests.support.reports import STARTED, a_leak, a_probe_summary, a_report, a_trace


def anchor(number: int, seconds: float, **trace: object) -> ProbeSummary:
    sent = STARTED + dt.timedelta(seconds=number)
    return a_probe_summary(
        label=f"baseline/{number:04d}",
        scenario="baseline",
        role="anchor",
        outcome=Outcome.CLEAN,
        planned_tokens=100_000,
        prompt_tokens=100_000,
        first_token_seconds=seconds,
        trace=a_trace(sent_at=sent, **trace),
    )


ANCHORS = (anchor(1, 1.0), anchor(2, 1.2), anchor(3, 1.4))


def lines(report: RunReport) -> tuple[tuple[int, float], ...]:
    longest = Point(label="x", tokens=400_000, seconds=0.1, outcome=Outcome.CLEAN)
    return floor_line(facts_of(report), [longest])


def test_all_four_are_drawn_where_there_is_something_to_draw():
    """Each with its table, ids that differ, and no picture of nothing."""
    drawn = pictures_of(facts_of(a_report(probes=(*ANCHORS, a_probe_summary()))))

    assert [each.ident for each in drawn] == ["matrix", "prefill", "limits", "timeline"]
    assert all(each.rows and len(each.rows[0]) == len(each.headings) for each in drawn)
    assert [each.ident for each in pictures_of(facts_of(a_report(probes=())))] == ["matrix", "limits"]


def test_the_floor_is_the_detectors():
    """Above the anchors' size alone, and as the floor of the statistics has it at the longest prompt."""
    floor = lines(a_report(probes=ANCHORS))

    assert floor[0][0] > 100_000
    # All sound answers took as long as the anchors, so nothing is known to grow with the prompt.
    assert floor[-1] == (400_000, pytest.approx(SLACK * 1.0))
    quick = dataclasses.replace(anchor(4, 0.1), role="check", planned_tokens=100, prompt_tokens=100)
    assert lines(a_report(probes=(*ANCHORS, quick)))[-1][1] == pytest.approx(SLACK * (0.1 + 4 * 0.9))


@pytest.mark.parametrize(
    "probes",
    [
        ANCHORS[:2],
        (*ANCHORS[:2], anchor(3, 1.4, is_timing_trusted=False)),
        (*ANCHORS[:2], anchor(3, 1.4, is_stream=False)),
        (*ANCHORS[:2], anchor(3, 1.4, cached_tokens=99_000)),
        (*ANCHORS[:2], dataclasses.replace(anchor(3, 1.4), outcome=Outcome.SUSPECT)),
        (),
    ],
)
def test_no_floor_is_drawn_that_does_not_stand(probes: tuple[ProbeSummary, ...]):
    """Fewer than three sound, trusted, uncached anchors claim nothing."""
    assert lines(a_report(probes=probes)) == ()


def test_a_physical_bound_stands_without_anchors():
    """It is the target's setting, and kept with the run."""
    report = a_report(probes=())
    bound = PhysicalBound(active_parameters=1e10, gpus=1, peak_flops_per_gpu=1e15)
    target = dataclasses.replace(report.run.campaign.target, physical_bound=bound)
    campaign = dataclasses.replace(report.run.campaign, target=target)
    report = dataclasses.replace(report, run=dataclasses.replace(report.run, campaign=campaign))

    assert lines(report)[-1] == (400_000, pytest.approx(8.0))


def test_limits_are_advertised_enforced_and_found():
    """Each is named by how it is known; nothing is made up."""
    marks = {mark.name: (mark.tokens, mark.kind.value) for mark in limit_marks(facts_of(a_report()))}

    assert marks == {
        "context advertised": (1_048_576, "advertised"),
        "prefill pool configured": (681_280, "advertised"),
        "decode pool configured": (1_100_032, "advertised"),
        "stated by a refusal": (681_274, "enforced"),
        "largest prompt served soundly": (681_273, "found"),
        "first length served wrongly": (681_274, "wrong"),
    }


def test_sightings_stand_under_donor_and_asker():
    """Strangers' text has a row of its own."""
    (matrix, *_) = pictures_of(facts_of(a_report(tenant_names={1: "alpha"}, findings=(a_leak(),))))

    assert ("not in this configuration", "alpha", "1") in matrix.rows


def test_a_long_run_keeps_its_page_small():
    """Tables beside pictures say how much they leave out."""
    probes = tuple(anchor(number, 1.0) for number in range(100))
    timeline = pictures_of(facts_of(a_report(probes=probes)))[-1]

    assert (len(timeline.rows), timeline.left_out) == (MOST_ROWS, 100 - MOST_ROWS)
