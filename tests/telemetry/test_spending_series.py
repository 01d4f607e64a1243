"""Series of spending, budgets, pacing and breakers."""

import datetime as dt

import pytest
from prometheus_client import CollectorRegistry

from prober.domain.breaker import BreakerState
from prober.domain.budget import Cap, Expense, Standing, Unit, Window
from prober.domain.observation import Timeline
from prober.domain.probe import Wave
from prober.domain.verdict import Spending
from prober.telemetry.spending_series import SpendingSeries
from tests.support.evidence import a_probe, an_observation
from tests.support.reports import a_report, a_run
from tests.support.stored import judged

TENANTS = {"staging": ["alpha", "bravo"], "production": ["alpha"]}
DAILY = Cap(window=Window.DAY, unit=Unit.MONEY, limit=2_500_000)
EACH = Cap(window=Window.HOUR, unit=Unit.TOKENS, limit=900, target="staging", is_per_tenant=True)
SHARED = Cap(window=Window.HOUR, unit=Unit.REQUESTS, limit=7, is_per_tenant=True)
NOON = dt.datetime(2026, 12, 1, 12, tzinfo=dt.UTC)


class Shown:
    """Series, and how to read them."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.series = SpendingSeries(self.registry, tenants=TENANTS, caps=[DAILY, EACH, SHARED])

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"prober_{name}", labels)

    def cap(self, name: str, tenant: str = "", target: str = "staging", **labels: str) -> float | None:
        return self.value(f"budget_{name}", tenant=tenant, target=target, **labels)


@pytest.fixture
def shown() -> Shown:
    return Shown()


def test_every_tenant_of_every_target_starts_at_nothing(shown: Shown):
    """A counter born at 1 would hide its first increase."""
    for target, names in TENANTS.items():
        for tenant in names:
            for kind in ("prompt", "output"):
                assert shown.value("spent_tokens_total", target=target, tenant=tenant, kind=kind) == 0
            for name in ("spent_requests_total", "spent_money_total", "paced_seconds_total"):
                assert shown.value(name, target=target, tenant=tenant) == 0
        states = {state: shown.value("breaker_state", target=target, state=state.value) for state in BreakerState}
        assert states == {BreakerState.CLOSED: 1, BreakerState.OPEN: 0, BreakerState.HALF_OPEN: 0}
    assert shown.value("spent_requests_total", target="production", tenant="bravo") is None


def test_every_cap_starts_wholly_left(shown: Shown):
    """A cap on all targets or tenants has them empty, which Prometheus reads as absent; one per tenant names each."""
    day = {"window": "day", "unit": "money"}
    assert [shown.cap(name, target="", **day) for name in ("cap", "left", "spent")] == [2.5, 2.5, 0]
    hour = {"window": "hour", "unit": "tokens"}
    assert [shown.cap("left", tenant, **hour) for tenant in ("alpha", "bravo", "")] == [900, 900, None]
    requests = {"window": "hour", "unit": "requests", "target": ""}
    assert [shown.cap("cap", tenant, **requests) for tenant in ("alpha", "bravo")] == [7, 7]


def test_what_is_spent_is_counted_by_tenant(shown: Shown):
    """Tokens by kind, requests, and money in units of the currency."""
    expense = Expense(spending=Spending(requests=2, prompt_tokens=300, output_tokens=40), micros=1_500_000)
    shown.series.spent("staging", "bravo", expense)
    shown.series.spent("staging", "bravo", expense)

    labels = {"target": "staging", "tenant": "bravo"}
    assert shown.value("spent_requests_total", **labels) == 4
    assert shown.value("spent_tokens_total", kind="prompt", **labels) == 600
    assert shown.value("spent_tokens_total", kind="output", **labels) == 80
    assert shown.value("spent_money_total", **labels) == 3
    assert shown.value("spent_money_total", target="staging", tenant="alpha") == 0


def test_standings_are_shown_as_they_are(shown: Shown):
    """Spent and left of the present window; a cap that was lowered shows nothing left, not less."""
    shown.series.standings(
        [
            Standing(cap=DAILY, tenant=None, spent=1_000_000, frees_at=NOON),
            Standing(cap=EACH, tenant="alpha", spent=1_000, frees_at=NOON),
        ]
    )

    day = {"window": "day", "unit": "money"}
    assert [shown.cap(name, target="", **day) for name in ("cap", "left", "spent")] == [2.5, 1.5, 1]
    hour = {"window": "hour", "unit": "tokens"}
    assert [shown.cap(name, "alpha", **hour) for name in ("cap", "left", "spent")] == [900, 0, 1_000]
    assert shown.cap("left", "bravo", **hour) == 900


@pytest.mark.parametrize("state", BreakerState)
def test_one_state_of_a_breaker_is_1(shown: Shown, state: BreakerState):
    """The others are 0, whatever was before."""
    shown.series.breaker("staging", BreakerState.HALF_OPEN)
    shown.series.breaker("staging", state)

    values = {each: shown.value("breaker_state", target="staging", state=each.value) for each in BreakerState}
    assert values == {each: float(each is state) for each in BreakerState}
    assert shown.value("breaker_state", target="production", state="closed") == 1


def test_waits_of_probes_add_up(shown: Shown):
    """How long a tenant's pacing kept its probes, in seconds."""
    for seconds in (1.5, 2.0):
        observation = an_observation(timeline=Timeline(throttle_wait=seconds))
        judgement = judged(probe=a_probe(), observation=observation)
        shown.series.probe_judged(a_run(), judgement, Spending())

    tenant = a_probe().tenant.name
    assert shown.value("paced_seconds_total", target="staging", tenant=tenant) == 3.5


def test_the_rest_of_a_run_changes_nothing(shown: Shown):
    """What other series tell is not told again here."""
    before = {(s.name, *sorted(s.labels.items())): s.value for f in shown.registry.collect() for s in f.samples}
    run, report = a_run(), a_report()
    shown.series.run_started(run, Spending(requests=9, prompt_tokens=9))
    shown.series.budget_short(run, ())
    shown.series.wave_started(run, Wave(probes=(a_probe(),), purpose="see"), Spending())
    shown.series.run_ended(report)
    shown.series.internal_error("ladder", ValueError())

    after = {(s.name, *sorted(s.labels.items())): s.value for f in shown.registry.collect() for s in f.samples}
    assert after == before
