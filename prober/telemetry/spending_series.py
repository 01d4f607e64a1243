"""Series of spending, budgets, pacing and breakers. An empty label `target` or `tenant` means all of them together."""

from collections.abc import Iterable, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge

from prober.domain.breaker import BreakerState
from prober.domain.budget import MICROS, Cap, Expense, Shortage, Standing, Unit
from prober.domain.campaign import Run
from prober.domain.evidence import Judgement
from prober.domain.probe import Wave
from prober.domain.verdict import RunReport, Spending
from prober.plan.budgets import owners

_OF_TENANT = ("target", "tenant")
_OF_CAP = ("target", "tenant", "window", "unit")
ALL = ""


class SpendingSeries:
    """Publishes into a registry of the caller's: one `SpendingSeries` per registry.

    Satisfies `runner.ports.Telemetry` and `store.shared_budget.SpendingWatcher`, structurally.

    Every label set exists from the start: counters at 0, caps at their limits and wholly left, breakers closed.

    Args:
        registry: where the series are created.
        tenants: names of the configured tenants, by target.
        caps: what is bounded; only these have series of caps.
    """

    def __init__(
        self, registry: CollectorRegistry, *, tenants: Mapping[str, Sequence[str]], caps: Iterable[Cap] = ()
    ) -> None:
        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(f"prober_{name}_total", meaning, labels, registry=registry)

        def gauge(name: str, meaning: str, *labels: str) -> Gauge:
            return Gauge(f"prober_{name}", meaning, labels, registry=registry)

        self._tokens = counter("spent_tokens", "Tokens spent, by tenant.", *_OF_TENANT, "kind")
        self._requests = counter("spent_requests", "Requests sent, by tenant.", *_OF_TENANT)
        self._money = counter("spent_money", "Money spent, by tenant, in the prices' currency.", *_OF_TENANT)
        self._paced = counter("paced_seconds", "Time that probes waited for their tenant's pacing.", *_OF_TENANT)
        self._cap = gauge("budget_cap", "Most that may be spent in a window.", *_OF_CAP)
        self._left = gauge("budget_left", "Left of it in the present window, for all replicas.", *_OF_CAP)
        self._used = gauge("budget_spent", "Spent or reserved in the present window, by all replicas.", *_OF_CAP)
        self._breaker = gauge("breaker_state", "1 for the state of the circuit breaker.", "target", "state")
        for target, names in tenants.items():
            self._announce(target, names)
        for cap in caps:
            for tenant in owners(cap, tenants):
                self._show(cap, tenant or ALL, spent=0, left=cap.limit)

    def spent(self, target: str, tenant: str, expense: Expense) -> None:
        """Count what a tenant's calls really cost."""
        self._requests.labels(target, tenant).inc(expense.spending.requests)
        self._tokens.labels(target, tenant, "prompt").inc(expense.spending.prompt_tokens)
        self._tokens.labels(target, tenant, "output").inc(expense.spending.output_tokens)
        self._money.labels(target, tenant).inc(expense.micros / MICROS)

    def standings(self, shown: Sequence[Standing]) -> None:
        """Show how much of every cap is used."""
        for standing in shown:
            self._show(standing.cap, standing.tenant or ALL, spent=standing.spent, left=standing.left)

    def breaker(self, target: str, state: BreakerState) -> None:
        """Show the state of a target's circuit breaker."""
        for each in BreakerState:
            self._breaker.labels(target, each.value).set(each is state)

    def run_started(self, run: Run, estimate: Spending) -> None:
        """Nothing: an estimate is not spent."""

    def budget_short(self, run: Run, shortages: Sequence[Shortage]) -> None:
        """Nothing: what is left is shown already."""

    def wave_started(self, run: Run, wave: Wave, spent: Spending) -> None:
        """Nothing: what a wave reserves is shown by `standings`."""

    def probe_judged(self, run: Run, judgement: Judgement, spent: Spending) -> None:  # noqa: ARG002 - as telemetry tells
        """Add what a probe had waited."""
        waited = judgement.evidence.observation.timeline.throttle_wait
        self._paced.labels(run.campaign.target.name, judgement.evidence.probe.tenant.name).inc(max(0.0, waited))

    def run_ended(self, report: RunReport) -> None:
        """Nothing: all of it was counted wave by wave."""

    def database_awaited(self, run: Run, why: str, seconds: float) -> None:
        """Nothing: nothing is spent meanwhile."""

    def database_back(self, run: Run, seconds: float) -> None:
        """Nothing, likewise."""

    def internal_error(self, component: str, error: BaseException) -> None:
        """Nothing: counted elsewhere."""

    def _announce(self, target: str, tenants: Iterable[str]) -> None:
        for tenant in tenants:
            for family in (self._requests, self._money, self._paced):
                family.labels(target, tenant)
            for kind in ("prompt", "output"):
                self._tokens.labels(target, tenant, kind)
        self.breaker(target, BreakerState.CLOSED)

    def _show(self, cap: Cap, tenant: str, *, spent: int, left: int) -> None:
        scale = MICROS if cap.unit is Unit.MONEY else 1
        labels = (cap.target or ALL, tenant, cap.window.value, cap.unit.value)
        self._cap.labels(*labels).set(cap.limit / scale)
        self._left.labels(*labels).set(left / scale)
        self._used.labels(*labels).set(spent / scale)
