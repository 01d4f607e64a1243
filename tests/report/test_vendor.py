"""The report that an operator hands upstream."""

import ast
import datetime as dt
import re

from prober.domain.fault_kind import FaultKind
from prober.domain.outcome import Outcome
from prober.report.facts import facts_of
from prober.report.vendor import render
from tests.support.reports import (
    DONOR_CANARY,
    STARTED,
    a_clean_report,
    a_leak,
    a_probe_summary,
    a_report,
    a_trace,
    report_of,
)

DONOR = a_probe_summary(
    label="seed_and_probe/0001",
    tenant="bravo",
    role="donor",
    canary=str(DONOR_CANARY),
    request_id="donor-request-id",
    outcome=Outcome.CLEAN,
    trace=a_trace(sent_at=STARTED + dt.timedelta(seconds=10), end_seconds=4.0),
)


def test_it_is_complete_in_itself():
    """Symptom, whose text, from which request and place, how sure, ids, headers, timeline, server, kinds, program."""
    report = a_report(probes=(DONOR, a_probe_summary()), findings=(a_leak(kinds=(FaultKind.REJECTED_BUT_ADMITTED,)),))
    text = render(facts_of(report))

    for told in (
        "The answer to tenant alpha's request seed_and_probe/0003 held text of tenant bravo from its request",
        "words 108 to 135",
        "36.6 bits: chance explains it in at most one of 104 billion answers",
        "answered with HTTP 200 (served_full); a refusal was due",
        "`9b2f4c1e-0000-4000-8000-000000000003`",
        "`donor-request-id`",
        "| `cf-ray` | `8f2a` |",
        "| `seed_and_probe/0001` |",
        "10.000 s",
        "| system fingerprint | `fp_0519` |",
        "| server header | `sglang` |",
        "| prefill pool configured | `681,280 tokens` |",
        "| first length served wrongly | `681,274 tokens` |",
        "https://github.com/sgl-project/sglang/issues/30233",
        "| rollout: revision | `42` |",
        "`KEY_BRAVO` and `KEY_ALPHA`",
    ):
        assert told in text, told


def test_its_program_is_whole():
    """What stands in the block can be run as it is."""
    text = render(facts_of(a_report(probes=(DONOR, a_probe_summary()))))
    (program,) = re.findall(r"^```+python\n(.*?)^```+$", text, re.MULTILINE | re.DOTALL)

    assert ast.parse(program)
    assert "seed_and_probe/0001" in program


def test_without_a_finding_it_says_what_the_run_shows():
    """A clean or undecided run is not handed upstream as a fault."""
    assert "No finding to hand over: the verdict is CLEAN" in render(facts_of(a_clean_report()))
    assert "the verdict is INCONCLUSIVE" in render(facts_of(report_of(Outcome.INCONCLUSIVE)))


def test_a_finding_whose_request_is_gone_is_still_told():
    """Pruned probes cost the details, not the finding."""
    text = render(facts_of(a_report(probes=())))

    assert "held text of tenant bravo" in text
    assert "no longer kept" in text
