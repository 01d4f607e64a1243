"""What a run keeps of its probes."""

import pytest

from prober.domain.answer import Answer
from prober.domain.finding import Finding, Reason
from prober.domain.observation import Observation, Usage
from prober.domain.outcome import Outcome
from prober.domain.probe import Role
from prober.domain.tenant import Tenant
from prober.domain.verdict import Spending
from prober.runner.book import RunBook, cost_of, summarise, why_uncalibrated
from tests.support.evidence import (
    DONOR,
    NOON,
    a_finding,
    a_judgement,
    a_probe,
    a_prompt,
    a_reading,
    an_evidence,
    an_observation,
)
from tests.support.reports import a_run


def test_a_summary_holds_hash_and_counts_of_the_answer():
    """One line per probe says what was sent, what came back, and what was concluded."""
    judgement = a_judgement(
        an_evidence(reading=a_reading(sha256="c" * 64, characters=12)),
        a_finding(Reason.SERVED, Outcome.CLEAN),
        a_finding(Reason.USAGE_MISMATCH, Outcome.SUSPECT),
        a_finding(Reason.USAGE_MISMATCH, Outcome.SUSPECT),
    )

    line = summarise(judgement)

    assert (line.answer_sha256, line.answer_characters) == ("c" * 64, 12)
    assert line.outcome is Outcome.SUSPECT
    assert line.reasons == (Reason.SERVED, Reason.USAGE_MISMATCH)
    assert line.role == Role.CHECK.value


@pytest.mark.parametrize(
    ("answer", "usage", "spent"),
    [
        (
            Answer.SERVED_FULL,
            Usage(prompt_tokens=299_999, completion_tokens=64),
            Spending(requests=1, prompt_tokens=299_999, output_tokens=64),
        ),
        (
            Answer.TRUNCATED,
            Usage(prompt_tokens=200_000, completion_tokens=64),
            Spending(requests=1, prompt_tokens=200_000, output_tokens=64),
        ),
        (
            Answer.SERVED_FULL,
            Usage(prompt_tokens=1, completion_tokens=0),
            Spending(requests=1, prompt_tokens=300_000, output_tokens=60),
        ),
        (
            Answer.SERVED_FULL,
            Usage(prompt_tokens=900_000, completion_tokens=900),
            Spending(requests=1, prompt_tokens=900_000, output_tokens=900),
        ),
        (Answer.SERVED_FULL, Usage(), Spending(requests=1, prompt_tokens=300_000, output_tokens=60)),
        (Answer.HANG, Usage(), Spending(requests=1, prompt_tokens=300_000, output_tokens=60)),
        (Answer.REJECTED_OK, Usage(), Spending(requests=1)),
        (Answer.UNAUTHORISED, Usage(), Spending(requests=1)),
        (Answer.UNREACHABLE, Usage(), Spending(requests=1)),
    ],
)
def test_a_probe_costs_what_was_reported_else_what_was_planned(answer: Answer, usage: Usage, spent: Spending):
    """Refused prompts were not processed; everything that may have been is counted in full, whatever a stub reports."""
    judgement = a_judgement(an_evidence(answer=answer, observation=an_observation(usage=usage)))

    assert cost_of(judgement) == spent


def test_the_report_puts_the_worst_finding_first_and_keeps_the_clean_ones():
    """Readers see what matters first, and can still see what was checked."""
    book = RunBook(run=a_run(), estimate=Spending())
    book.enter(a_judgement(None, a_finding(Reason.SERVED, Outcome.CLEAN)), Spending(requests=1))
    book.note(Reason.BUDGET_EXHAUSTED, "Cut.")
    book.enter(
        a_judgement(an_evidence(probe=a_probe(label="b/2")), a_finding(Reason.FOREIGN_TEXT, Outcome.SUSPECT)),
        Spending(requests=1),
    )

    report = book.report(NOON)

    assert [finding.outcome for finding in report.findings] == [Outcome.SUSPECT, Outcome.INCONCLUSIVE, Outcome.CLEAN]
    assert report.verdict.outcome is Outcome.SUSPECT
    assert report.spent == Spending(requests=2)
    assert [probe.label for probe in report.probes] == ["baseline/0001", "b/2"]
    assert report.ended_at == NOON


def test_an_empty_book_is_inconclusive():
    """A run that sent nothing is never green."""
    report = RunBook(run=a_run(), estimate=Spending()).report(NOON)

    assert report.verdict.outcome is Outcome.INCONCLUSIVE
    assert report.verdict.reasons == (Reason.TOO_FEW_SAMPLES,)


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_only_a_confirmed_violation_counts_as_one(is_confirmed: bool):  # noqa: FBT001 - parametrised
    """What needs a re-probe must not stop the run that would re-probe it."""
    book = RunBook(run=a_run(), estimate=Spending())
    finding = a_finding(Reason.SERVED_OVER_CONTEXT, Outcome.VIOLATION, is_confirmed=is_confirmed)
    book.enter(a_judgement(None, finding), Spending())

    assert book.has_confirmed_violation is is_confirmed


@pytest.mark.parametrize(
    ("observation", "finding", "words"),
    [
        (an_observation(), a_finding(Reason.BUSY, Outcome.INCONCLUSIVE, message="It was busy."), "b/1: It was busy."),
        (an_observation(usage=Usage()), a_finding(Reason.SERVED, Outcome.CLEAN), "b/1 brought back no count"),
        (an_observation(), a_finding(Reason.SERVED, Outcome.CLEAN), "do not add up"),
    ],
    ids=["unusable", "uncounted", "inconsistent"],
)
def test_a_failed_calibration_is_told_by_what_mends_it(observation: Observation, finding: Finding, words: str):
    """The user learns whether to look at the credential, at the usage field, or at what cuts prompts."""
    evidence = an_evidence(probe=a_probe(label="b/1"), observation=observation)

    assert words in why_uncalibrated(a_judgement(evidence, finding))


def test_a_canary_is_named_by_the_request_that_sent_it_first():
    """A replay, by whichever tenant, is a text of the request that it repeats."""
    book = RunBook(run=a_run(), estimate=Spending())
    first = an_evidence(probe=a_probe(label="twins/0001"))
    replay = an_evidence(probe=a_probe(label="twins/0002", tenant=Tenant(name="bravo", number=2)))
    other = an_evidence(probe=a_probe(label="twins/0003"), prompt=a_prompt(canary=DONOR))
    for evidence in (first, replay, other, replay):
        book.enter(a_judgement(evidence), Spending())

    labels = book.report(NOON).donor_labels

    assert labels == {str(first.prompt.canary): "twins/0001", str(DONOR): "twins/0003"}
