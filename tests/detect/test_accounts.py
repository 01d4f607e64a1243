"""Two tenants that are one account: what tells it, and what must not."""

import dataclasses
import datetime as dt
import random

import pytest

from prober.detect.accounts import (
    LEAST_ANSWERS,
    LEAST_TURNS,
    ORGANISATION_HEADERS,
    REMAINING_HEADERS,
    account_findings,
    fold_accounts,
    is_one_account,
)
from prober.detect.history import advance
from prober.domain.evidence import History, Judgement
from prober.domain.finding import Finding, Reason
from prober.domain.observation import Timeline
from prober.domain.outcome import Outcome
from prober.domain.tenant import Tenant
from tests.support.evidence import NOON, a_judgement, a_probe, an_evidence, an_observation

ALPHA, BRAVO, CHARLIE = (
    Tenant(name=name, number=number) for number, name in enumerate(("alpha", "bravo", "charlie"), 1)
)
TENANTS = (ALPHA, BRAVO)
LIMIT = REMAINING_HEADERS[0]
ORGANISATION = ORGANISATION_HEADERS[0]


def answered(tenant: Tenant, second: float = 0.0, took: float = 0.5, **headers: object) -> Judgement:
    """One answer, with headers whose underscores are hyphens."""
    observation = an_observation(
        sent_at=NOON + dt.timedelta(seconds=second),
        timeline=Timeline(connect=0.1, first_token=0.1, end=took - 0.1),
        evidence_headers={name.replace("_", "-"): str(value) for name, value in headers.items()},
    )
    return a_judgement(an_evidence(probe=a_probe(tenant=tenant), observation=observation))


def countdown(*readings: tuple[Tenant, object], every: float = 1.0, took: float = 0.5) -> list[Judgement]:
    """Answers one after the other, each with its reading; None: without one."""
    return [
        answered(tenant, second=number * every, took=took, **({} if left is None else {LIMIT.replace("-", "_"): left}))
        for number, (tenant, left) in enumerate(readings)
    ]


def alternating(turns: int, start: int = 900) -> list[tuple[Tenant, object]]:
    """Readings of one counter that both tenants use in turn."""
    return [(TENANTS[number % 2], start - number) for number in range(turns + 1)]


def told(findings: tuple[Finding, ...]) -> str:
    (finding,) = findings
    assert (finding.reason, finding.outcome, finding.probe_label) == (Reason.ONE_ACCOUNT, Outcome.INCONCLUSIVE, "")
    return finding.message


def test_an_account_that_configuration_names_twice_needs_no_answer():
    """As an address with the account's id in it, one for both tenants; the third tenant has its own."""
    same = [dataclasses.replace(tenant, account="5f") for tenant in TENANTS]
    own = dataclasses.replace(CHARLIE, account="6a")
    assert "alpha and bravo are one account: the configuration" in told(account_findings([*same, own], []))
    assert account_findings([same[0], own], []) == ()
    assert account_findings(TENANTS, []) == ()


@pytest.mark.parametrize("header", ORGANISATION_HEADERS)
def test_answers_that_name_one_organisation(header: str):
    """Both tenants are charged to the same one, in every answer that says so."""
    name = {header.replace("-", "_"): "sha256:11"}
    answers = [answered(tenant, **name) for tenant in TENANTS for _ in range(LEAST_ANSWERS)]
    assert f"bear {header} name the same one" in told(account_findings(TENANTS, answers))
    assert account_findings(TENANTS, answers[1:]) == ()
    assert account_findings((ALPHA, CHARLIE), answers) == ()


def test_an_answer_delivered_wrongly_is_not_taken_for_one_account():
    """Another tenant's headers in one answer of several would be the very fault that is looked for."""
    own = [answered(BRAVO, openai_organization="sha256:22")] * 5
    foreign = [answered(BRAVO, openai_organization="sha256:11")] * LEAST_ANSWERS
    alpha = [answered(ALPHA, openai_organization="sha256:11")] * 5
    assert account_findings(TENANTS, [*alpha, *own, *foreign]) == ()
    assert account_findings(TENANTS, [*alpha, *foreign]) != ()


def test_different_sources_are_not_compared():
    """The same digest from two headers says nothing; a second source that differs takes nothing from the first."""
    alpha = [answered(ALPHA, openai_organization="sha256:11", anthropic_organization_id="sha256:33")] * 2
    crossed = [answered(BRAVO, anthropic_organization_id="sha256:11")] * 2
    half = [answered(BRAVO, openai_organization="sha256:11", anthropic_organization_id="sha256:44")] * 2
    assert account_findings(TENANTS, [*alpha, *crossed]) == ()
    assert "bear openai-organization" in told(account_findings(TENANTS, [*alpha, *half]))


@pytest.mark.parametrize("header", REMAINING_HEADERS)
def test_one_counter_that_both_count_down(header: str):
    """Request by request one less, whoever sends it."""
    answers = [
        answered(tenant, second=number, **{header.replace("-", "_"): left})
        for number, (tenant, left) in enumerate(alternating(LEAST_TURNS))
    ]
    assert f"count down one {header} together" in told(account_findings(TENANTS, answers))
    random.Random(3).shuffle(answers)
    assert account_findings(TENANTS, answers) != ()


def test_a_third_tenant_in_between_breaks_the_count_of_a_pair():
    """Three keys of one account: what the third takes away shows as a gap, which proves nothing by itself."""
    readings = [(tenant, 900 - number) for number, tenant in enumerate([ALPHA, CHARLIE, BRAVO] * 5)]
    assert account_findings(TENANTS, countdown(*readings)) == ()


@pytest.mark.parametrize(
    "answers",
    [
        countdown(*alternating(LEAST_TURNS - 1)),
        countdown(*[(tenant, 900 - n) for n in range(9) for tenant in TENANTS]),
        countdown(*[(tenant, 900) for _ in range(9) for tenant in TENANTS]),
        countdown(*[(TENANTS[n % 2], 900 - 2 * n) for n in range(20)]),
        countdown(*[(TENANTS[n % 2], 900 - n + n // 4) for n in range(20)]),
        countdown(*alternating(20), took=1.5),
        countdown(*[(TENANTS[n % 2], f"{900 - n} requests") for n in range(20)]),
        countdown(*[(tenant, None) for _ in range(9) for tenant in TENANTS]),
        countdown(*[(ALPHA, 900 - n) for n in range(20)]),
    ],
    ids=[
        "too few",
        "own counters alike",
        "always full",
        "others too",
        "refilled",
        "overlapping",
        "text",
        "none",
        "one",
    ],
)
def test_counters_that_prove_nothing(answers: list[Judgement]):
    """Own counters, refills, other people's requests, requests at once: each has another explanation."""
    assert account_findings(TENANTS, answers) == ()


@pytest.mark.parametrize("seed", range(20))
def test_two_accounts_with_traffic_of_their_own_are_never_taken_for_one(seed: int):
    """Independent counters, each with other requests by chance and refills: 20 runs of 600 requests, no finding."""
    chance = random.Random(seed)
    left = dict.fromkeys(TENANTS, 5_000)
    readings = []
    for number in range(600):
        tenant = TENANTS[number % 2]
        for each in TENANTS:
            left[each] -= chance.random() < 0.5
        left[tenant] -= 1
        readings.append((tenant, left[tenant]))
    assert account_findings(TENANTS, countdown(*readings)) == ()


def test_what_is_known_grows_with_the_run():
    """Detectors ask it of the run so far: by then both must have been named, alike, by one source."""
    history = History()
    assert not is_one_account(history, 1, 2)
    for tenant in TENANTS:
        history = advance(history, answered(tenant, openai_organization="sha256:11"))
    assert is_one_account(history, 1, 2)
    assert not is_one_account(history, 1, 3)
    again = answered(ALPHA, openai_organization="sha256:11").evidence
    assert fold_accounts(history, again) is history.accounts
    history = advance(history, answered(BRAVO, openai_organization="sha256:22"))
    assert not is_one_account(history, 1, 2)
