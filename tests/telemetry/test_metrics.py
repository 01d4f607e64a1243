"""Prometheus metrics of runs."""

import dataclasses
import datetime as dt

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from prober.domain.answer import Answer
from prober.domain.campaign import Trigger
from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Reason
from prober.domain.observation import Timeline, Usage
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation, Wave
from prober.domain.target import OverlongContract
from prober.domain.verdict import LimitMap, RunReport, Spending
from prober.telemetry.metrics import Metrics
from tests.support import evidence, reports

RUN = reports.a_run()
NOTHING = Spending()


class Scrape:
    """One registry with its metrics, read like Prometheus reads it."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.metrics = Metrics(self.registry, targets=["staging"], components=["ladder"], version="1.2.3")

    def value(self, name: str, **labels: str) -> float | None:
        labels = labels if "component" in labels else {"target": "staging", **labels}
        return self.registry.get_sample_value(f"prober_{name}", labels)

    def judge(self, *findings: object, run: reports.Run = RUN, cost: Spending = NOTHING, **changes: object) -> None:
        judged = evidence.a_judgement(evidence.an_evidence(**changes), *findings)
        self.metrics.probe_judged(run, judged, cost)

    def text(self) -> str:
        return generate_latest(self.registry).decode()


@pytest.fixture
def scrape():
    return Scrape()


def a_verdict(outcome: Outcome, *findings: object, **changes: object) -> RunReport:
    report = reports.a_report(**{"findings": findings, **changes})
    return dataclasses.replace(report, verdict=dataclasses.replace(report.verdict, outcome=outcome))


VIOLATION = evidence.a_finding(Reason.FOREIGN_CANARY, Outcome.VIOLATION)
SUSPECT = evidence.a_finding(Reason.PREFILL_TOO_FAST, Outcome.SUSPECT)


def test_a_judged_probe_is_counted_at_once(scrape: Scrape):
    """A leak is counted, shown as active and paid for before its run ends."""
    cost = Spending(requests=1, prompt_tokens=681_274, output_tokens=64)
    scrape.judge(VIOLATION, SUSPECT, cost=cost, answer=Answer.SERVED_FULL)

    assert scrape.value("probes_total", answer="served_full", outcome="violation") == 1
    assert scrape.value("findings_total", reason="foreign_canary", outcome="violation") == 1
    assert scrape.value("findings_total", reason="prefill_too_fast", outcome="suspect") == 1
    assert scrape.value("active_findings", outcome="violation") == 1
    assert scrape.value("requests_total") == 1
    assert scrape.value("tokens_total", kind="prompt") == 681_274
    assert scrape.value("tokens_total", kind="output") == 64


def test_findings_are_counted_by_the_kind_of_fault_they_point_to_first(scrape: Scrape):
    """Which kind breaks out can be alerted on; a second suspicion, and what points to none, are not counted."""
    kinds = (FaultKind.ROW_STATE, FaultKind.STRAY_TOKENS)
    named = evidence.a_finding(Reason.VOCABULARY_COLLAPSED, Outcome.SUSPECT, kinds=kinds)
    unjudged = evidence.a_finding(Reason.BUSY, Outcome.INCONCLUSIVE, kinds=kinds)
    scrape.judge(named, VIOLATION, unjudged, answer=Answer.SERVED_FULL)

    assert scrape.value("suspected_kinds_total", fault_kind="K10", outcome="suspect") == 1
    assert scrape.value("suspected_kinds_total", fault_kind="K11", outcome="suspect") == 0
    assert scrape.value("suspected_kinds_total", fault_kind="K10", outcome="violation") == 0


def test_what_could_not_be_judged_is_counted_by_reason(scrape: Scrape):
    """Inconclusive findings have a counter of their own and are no open findings."""
    scrape.judge(evidence.a_finding(Reason.BUSY, Outcome.INCONCLUSIVE), answer=Answer.BUSY)

    assert scrape.value("inconclusive_findings_total", reason="busy") == 1
    assert scrape.value("probes_total", answer="busy", outcome="inconclusive") == 1
    assert scrape.value("active_findings", outcome="violation") == 0


def test_clean_findings_open_nothing(scrape: Scrape):
    """A clean probe counts as a clean probe only."""
    scrape.judge()

    assert scrape.value("probes_total", answer="served_full", outcome="clean") == 1
    assert " 1.0" not in "".join(line for line in scrape.text().splitlines() if "findings" in line)


@pytest.mark.parametrize(
    ("expectation", "answer", "overlong", "count"),
    [
        (Expectation.REJECT, Answer.SERVED_FULL, OverlongContract.REJECT, 1),
        (Expectation.REJECT, Answer.TRUNCATED, OverlongContract.REJECT, 1),
        (Expectation.REJECT, Answer.TRUNCATED, OverlongContract.TRUNCATE, 0),
        (Expectation.REJECT, Answer.SERVED_FULL, OverlongContract.TRUNCATE, 1),
        (Expectation.SERVE, Answer.REJECTED_IN_STREAM, OverlongContract.REJECT, 1),
        (Expectation.REJECT, Answer.REJECTED_OK, OverlongContract.REJECT, 0),
        (Expectation.SERVE, Answer.SERVED_FULL, OverlongContract.REJECT, 0),
        (Expectation.EITHER, Answer.SERVED_FULL, OverlongContract.REJECT, 0),
        (Expectation.REJECT, Answer.BUSY, OverlongContract.REJECT, 0),
    ],
)
def test_status_mismatches(
    scrape: Scrape, expectation: Expectation, answer: Answer, overlong: OverlongContract, count: int
):
    """An answer against the contract is counted by what was promised and what came; everything else is not."""
    target = dataclasses.replace(RUN.campaign.target, overlong=overlong)
    run = reports.a_run(campaign=reports.a_campaign(target=target))

    scrape.judge(run=run, probe=evidence.a_probe(expectation=expectation), answer=answer)

    got = scrape.value("status_mismatches_total", expected=expectation.value, got=answer.value)
    assert (got or 0) == count


@pytest.mark.parametrize(
    ("timeline", "usage", "answer", "timings", "rate"),
    [
        (Timeline(first_token=2.0), Usage(prompt_tokens=1000), Answer.SERVED_FULL, 1, 500.0),
        (Timeline(first_token=2.0), Usage(prompt_tokens=1000, cached_tokens=600), Answer.SERVED_FULL, 1, 200.0),
        (Timeline(first_token=2.0), Usage(prompt_tokens=1000, cached_tokens=1000), Answer.SERVED_FULL, 1, None),
        (Timeline(first_token=2.0), Usage(), Answer.SERVED_FULL, 1, None),
        (Timeline(first_token=2.0, loop_lag_seconds=0.5), Usage(prompt_tokens=1000), Answer.SERVED_FULL, 0, None),
        (Timeline(), Usage(prompt_tokens=1000), Answer.EMPTY, 0, None),
        (Timeline(first_token=0.0), Usage(prompt_tokens=1000), Answer.SERVED_FULL, 0, None),
        (Timeline(first_token=2.0), Usage(prompt_tokens=1000), Answer.REJECTED_IN_STREAM, 0, None),
    ],
)
def test_timings_are_observed_where_they_mean_something(
    scrape: Scrape, timeline: Timeline, usage: Usage, answer: Answer, timings: int, rate: float | None
):
    """Only served answers with a trusted first token are timed; a rate needs computed tokens that were reported."""
    observation = evidence.an_observation(timeline=timeline, usage=usage)

    scrape.judge(observation=observation, answer=answer)

    assert scrape.value("time_to_first_token_seconds_count") == timings
    assert scrape.value("prefill_tokens_per_second_count") == (0 if rate is None else 1)
    assert scrape.value("prefill_tokens_per_second_sum") == (rate or 0)


def test_a_run_in_progress_and_its_budget(scrape: Scrape):
    """The budget left is the cap at the start, less what is spent later, and never below zero."""
    run = reports.a_run(campaign=reports.a_campaign(max_run_tokens=1000))
    wave = Wave(probes=(), purpose="wait")

    scrape.metrics.run_started(run, Spending(prompt_tokens=700, output_tokens=50))
    assert (scrape.value("run_in_progress"), scrape.value("run_estimated_tokens")) == (1, 750)
    assert scrape.value("run_budget_left_tokens") == 1000

    scrape.metrics.wave_started(run, wave, Spending(prompt_tokens=300, output_tokens=100))
    assert scrape.value("run_budget_left_tokens") == 600

    scrape.metrics.run_ended(reports.a_report(run=run, spent=Spending(prompt_tokens=2000)))
    assert (scrape.value("run_in_progress"), scrape.value("run_budget_left_tokens")) == (0, 0)


@pytest.mark.parametrize(
    ("outcome", "is_conclusive"),
    [(Outcome.CLEAN, True), (Outcome.SUSPECT, True), (Outcome.VIOLATION, True), (Outcome.INCONCLUSIVE, False)],
)
def test_an_ended_run(scrape: Scrape, outcome: Outcome, is_conclusive: bool):  # noqa: FBT001  (a test parameter)
    """Each run moves its time stamp, and only one that judged its target moves the conclusive one."""
    ended = reports.STARTED + dt.timedelta(seconds=90)

    scrape.metrics.run_ended(a_verdict(outcome))

    assert scrape.value("last_run_timestamp_seconds") == ended.timestamp()
    assert scrape.value("last_conclusive_run_timestamp_seconds") == (ended.timestamp() if is_conclusive else 0)
    assert scrape.value("runs_total", trigger="manual", outcome=outcome.value) == 1
    assert {each: scrape.value("last_run_outcome", outcome=each.value) for each in Outcome} == {
        each: float(each is outcome) for each in Outcome
    }
    assert scrape.value("evidence_bits") == 36.6


def test_the_leak_rate_bound_never_mixes_triggers(scrape: Scrape):
    """A bound belongs to its trigger; no bound is 1, before the first run and after a violation."""
    assert scrape.value("leak_rate_upper95", trigger="manual") == 1

    scrape.metrics.run_ended(reports.a_clean_report())
    assert scrape.value("leak_rate_upper95", trigger="manual") == 0.0951
    assert scrape.value("leak_rate_upper95", trigger="rollout") == 1

    scrape.metrics.run_ended(reports.a_report())
    assert scrape.value("leak_rate_upper95", trigger="manual") == 1


def active(scrape: Scrape) -> tuple[float | None, float | None]:
    return scrape.value("active_findings", outcome="suspect"), scrape.value("active_findings", outcome="violation")


def test_findings_stay_active_until_a_clean_run(scrape: Scrape):
    """An inconclusive run closes nothing, a bad run puts its own findings in place, a clean run closes all."""
    scrape.judge(VIOLATION)
    scrape.metrics.run_ended(a_verdict(Outcome.VIOLATION, VIOLATION))
    assert active(scrape) == (0, 1)

    scrape.metrics.run_ended(a_verdict(Outcome.INCONCLUSIVE))
    assert active(scrape) == (0, 1)

    scrape.judge(SUSPECT)
    scrape.judge(SUSPECT)
    scrape.metrics.run_ended(a_verdict(Outcome.SUSPECT, SUSPECT, SUSPECT))
    assert active(scrape) == (2, 1)

    scrape.metrics.run_ended(a_verdict(Outcome.CLEAN))
    assert active(scrape) == (0, 0)


def test_findings_about_the_whole_run_are_counted_once(scrape: Scrape):
    """What ended a run is counted when it ends; findings of single probes were counted before."""
    cut = evidence.a_finding(Reason.BUDGET_EXHAUSTED, Outcome.INCONCLUSIVE, probe_label="")

    scrape.metrics.run_ended(
        a_verdict(Outcome.INCONCLUSIVE, cut, evidence.a_finding(Reason.BUSY, Outcome.INCONCLUSIVE))
    )

    assert scrape.value("inconclusive_findings_total", reason="budget_exhausted") == 1
    assert scrape.value("inconclusive_findings_total", reason="busy") == 0


@pytest.mark.parametrize(("component", "counted_as"), [("ladder", "ladder"), ("made up on the fly", "other")])
def test_faults_of_ours_are_counted_by_component(scrape: Scrape, component: str, counted_as: str):
    """Unknown components share one label, so that labels stay bounded."""
    scrape.metrics.internal_error(component, ValueError("its own words"))

    assert scrape.value("internal_errors_total", component=counted_as) == 1
    assert "own words" not in scrape.text()


def test_triggers_are_told_apart(scrape: Scrape):
    """Runs are counted by what started them."""
    scrape.metrics.run_ended(reports.a_report(run=reports.a_run(trigger=Trigger.ROLLOUT)))

    assert scrape.value("runs_total", trigger="rollout", outcome="violation") == 1
    assert scrape.value("runs_total", trigger="manual", outcome="violation") == 0


def test_active_findings_survive_a_restart(scrape: Scrape):
    """A process begins with the issues that an earlier one left open; a clean run closes them as always."""
    scrape.metrics.restore_active(
        {("staging", Outcome.VIOLATION): 2, ("staging", Outcome.CLEAN): 5, ("removed", Outcome.VIOLATION): 1}
    )
    assert active(scrape) == (0, 2)
    assert "removed" not in scrape.text()

    scrape.metrics.run_ended(a_verdict(Outcome.INCONCLUSIVE))
    assert active(scrape) == (0, 2)
    scrape.metrics.run_ended(a_verdict(Outcome.CLEAN))
    assert active(scrape) == (0, 0)


@pytest.mark.parametrize(
    ("served", "rejected", "shown"),
    [(681_273, 681_337, 681_273), (681_273, 681_338, 0), (681_273, None, 0), (None, 681_274, 0), (700_000, 681_274, 0)],
)
def test_a_limit_is_shown_where_it_was_found_to_one_page(
    scrape: Scrape, served: int | None, rejected: int | None, shown: int
):
    """A run that came no nearer, or contradicts itself, says nothing of the limit; its date stands beside it."""
    limits = LimitMap(largest_served=served, smallest_rejected=rejected)
    report = reports.a_report(limits=limits)
    scrape.metrics.run_ended(report)

    assert scrape.value("enforced_limit_tokens") == shown
    assert scrape.value("enforced_limit_timestamp_seconds") == (report.ended_at.timestamp() if shown else 0)


def test_a_limit_that_was_found_stays_until_another_one_is(scrape: Scrape):
    """Runs that look for no limit take none away."""
    scrape.metrics.run_ended(reports.a_report(limits=LimitMap(largest_served=100, smallest_rejected=101)))
    scrape.metrics.run_ended(reports.a_report(limits=LimitMap(largest_served=90)))
    assert scrape.value("enforced_limit_tokens") == 100

    scrape.metrics.run_ended(reports.a_report(limits=LimitMap(largest_served=80, smallest_rejected=81)))
    assert scrape.value("enforced_limit_tokens") == 80
