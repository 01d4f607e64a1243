"""Builds run reports for tests."""

import dataclasses
import datetime as dt

from prober.domain.answer import Answer
from prober.domain.budget import Cap, Shortage, Standing, Unit, Window
from prober.domain.campaign import Campaign, Run, Trigger
from prober.domain.canary import Canary
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.reading import Sighting, Tier
from prober.domain.target import Target
from prober.domain.tenant import Tenant
from prober.domain.trace import Trace
from prober.domain.verdict import LimitMap, ProbeSummary, RunReport, Spending, Verdict

STARTED = dt.datetime(2026, 9, 1, 12, 0, 0, tzinfo=dt.UTC)
DONOR_CANARY = Canary.of(2, 0, 77)
STRANGER_CANARY = Canary.of(900, 3, 5)


def a_campaign(**changes: object) -> Campaign:
    """A campaign of two tenants against a shared target of the incident's sizes."""
    target = Target(
        name="staging",
        model="@cf/zai-org/glm-5.3",
        dialect="openai-chat",
        context_tokens=1_048_576,
        prefill_pool_tokens=681_280,
        decode_pool_tokens=1_100_032,
        build="2026-09-01",
    )
    campaign = Campaign(
        target=target,
        tenants=(Tenant(name="alpha", number=1), Tenant(name="bravo", number=2)),
        scenarios=("baseline", "seed_and_probe"),
    )
    return dataclasses.replace(campaign, **changes)


def a_run(**changes: object) -> Run:
    """A manual run."""
    run = Run(run_id="run-1", campaign=a_campaign(), trigger=Trigger.MANUAL, started_at=STARTED)
    return dataclasses.replace(run, **changes)


def a_shortage() -> Shortage:
    """A day's cap that the run's estimate would pass."""
    cap = Cap(window=Window.DAY, unit=Unit.TOKENS, limit=1_000, target="staging")
    standing = Standing(cap=cap, tenant=None, spent=900, frees_at=STARTED + dt.timedelta(hours=12))
    return Shortage(standing=standing, wanted=200)


def a_sighting(canary: Canary = DONOR_CANARY, **changes: object) -> Sighting:
    """A strong sighting of the donor's text."""
    sighting = Sighting(
        tier=Tier.CODE, canary=canary, is_live=True, windows=19, first_block=12, last_block=14, evidence_bits=36.6
    )
    return dataclasses.replace(sighting, **changes)


def a_leak(**changes: object) -> Finding:
    """A confirmed violation with one sighting."""
    finding = Finding(
        detector="foreign_canary",
        outcome=Outcome.VIOLATION,
        reason=Reason.FOREIGN_CANARY,
        message="Canary text of tenant 2 stands in the answer to tenant 1.",
        probe_label="seed_and_probe/0003",
        evidence_bits=36.6,
        sightings=(a_sighting(),),
        is_confirmed=True,
    )
    return dataclasses.replace(finding, **changes)


def a_trace(**changes: object) -> Trace:
    """What came back with the foreign text."""
    trace = Trace(
        sent_at=STARTED + dt.timedelta(seconds=60),
        is_stream=True,
        body_acked_seconds=0.05,
        headers_seconds=0.06,
        last_token_seconds=0.8,
        end_seconds=0.9,
        max_output_tokens=64,
        completion_tokens=40,
        finish_reason="stop",
        stated_limits=(681_274,),
        response_id="chatcmpl-77",
        model_reported="glm-5.3",
        system_fingerprint="fp_0519",
        headers={"server": "sglang", "cf-ray": "8f2a"},
    )
    return dataclasses.replace(trace, **changes)


def a_probe_summary(**changes: object) -> ProbeSummary:
    """The probe that received foreign text."""
    summary = ProbeSummary(
        label="seed_and_probe/0003",
        scenario="seed_and_probe",
        role="check",
        tenant="alpha",
        canary=str(Canary.of(1, 0, 9)),
        request_id="9b2f4c1e-0000-4000-8000-000000000003",
        planned_tokens=681_274,
        prompt_tokens=681_274,
        expectation="reject",
        status=200,
        answer=Answer.SERVED_FULL,
        outcome=Outcome.VIOLATION,
        reasons=(Reason.SERVED_OVER_LIMIT, Reason.FOREIGN_CANARY),
        first_token_seconds=0.12,
        answer_sha256="ab" * 32,
        answer_characters=320,
        trace=a_trace(),
    )
    return dataclasses.replace(summary, **changes)


def a_report(**changes: object) -> RunReport:
    """A report of a run that found the incident."""
    report = RunReport(
        run=a_run(facts={"service": "chat", "revision": "42"}),
        ended_at=STARTED + dt.timedelta(seconds=90),
        verdict=Verdict(
            outcome=Outcome.VIOLATION,
            reasons=(Reason.FOREIGN_CANARY, Reason.SERVED_OVER_LIMIT),
            probes=9,
            conclusive=8,
            clean=7,
            leak_rate_upper95=None,
            evidence_bits=36.6,
        ),
        findings=(a_leak(),),
        probes=(a_probe_summary(),),
        estimate=Spending(requests=10, prompt_tokens=2_000_000, output_tokens=640),
        spent=Spending(requests=9, prompt_tokens=1_900_000, output_tokens=512),
        limits=LimitMap(largest_served=681_273, first_wrong=681_274),
        tenant_names={1: "alpha", 2: "bravo"},
        donor_labels={str(DONOR_CANARY): "seed_and_probe/0001"},
    )
    return dataclasses.replace(report, **changes)


def a_clean_report() -> RunReport:
    """A report with nothing to tell."""
    clean = Finding(
        detector="status_contract", outcome=Outcome.CLEAN, reason=Reason.SERVED, message="Served as expected."
    )
    verdict = Verdict(
        outcome=Outcome.CLEAN,
        reasons=(),
        probes=30,
        conclusive=30,
        clean=30,
        leak_rate_upper95=0.0951,
        evidence_bits=0.0,
    )
    return a_report(verdict=verdict, findings=(clean,), probes=(), limits=LimitMap())


def report_of(outcome: Outcome, *, is_about_run: bool = False) -> RunReport:
    """A report with this verdict, made by one probe of `seed_and_probe`, or by the run as a whole."""
    if outcome is Outcome.VIOLATION and not is_about_run:
        return a_report()
    reason = {
        Outcome.VIOLATION: Reason.FOREIGN_CANARY,
        Outcome.SUSPECT: Reason.USAGE_MISMATCH,
        Outcome.INCONCLUSIVE: Reason.TOO_FEW_SAMPLES,
        Outcome.CLEAN: Reason.SERVED,
    }[outcome]
    summary = a_probe_summary(outcome=Outcome.CLEAN if is_about_run else outcome, reasons=(reason,))
    made = Finding(
        detector="runner",
        outcome=outcome,
        reason=reason,
        message="It is so.",
        probe_label="" if is_about_run else summary.label,
    )
    sound = Finding(
        detector="status_contract",
        outcome=Outcome.CLEAN,
        reason=Reason.SERVED,
        message="Served as expected.",
        probe_label=summary.label,
    )
    verdict = Verdict(
        outcome=outcome,
        reasons=() if outcome is Outcome.CLEAN else (reason,),
        probes=1,
        conclusive=int(summary.outcome is not Outcome.INCONCLUSIVE),
        clean=int(summary.outcome is Outcome.CLEAN),
        leak_rate_upper95=0.95 if outcome is Outcome.CLEAN else None,
        evidence_bits=0.0,
    )
    return a_report(verdict=verdict, findings=(made, sound), probes=(summary,), limits=LimitMap())
