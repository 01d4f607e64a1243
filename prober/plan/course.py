"""One scenario under way: casts the tenants, drafts and sends probes, keeps their judgements, says when to stop."""

import dataclasses
from collections.abc import Generator, Iterable, Iterator, Sequence

from prober.domain.evidence import Answer, Judgement, WaveEvidence
from prober.domain.probe import Expectation, Probe, PromptSpec, Role, Wave
from prober.domain.tenant import Tenant
from prober.plan.lengths import baseline_tokens
from prober.plan.limits import expectation, is_hit
from prober.plan.stage import Stage

MAX_WAVE_PROBES = 2
"""Long prompts are megabytes each, here and in every proxy on the way."""

MAX_WAVE_TOKENS = 3_000_000

THINKING_OUTPUT_TOKENS = 2_048
"""Room to reason before the answer; only for probes that fit, never for over-limit ones."""

PATIENCE = 3
"""Probes in a row without an answer or a refusal that says anything, after which a scenario leaves the target alone."""

_UNANSWERED = frozenset(
    {
        Answer.HANG,
        Answer.BUSY,
        Answer.UNAUTHORISED,
        Answer.NOT_FOUND,
        Answer.SERVER_ERROR,
        Answer.MALFORMED,
        Answer.UNREACHABLE,
        Answer.REFUSED_OTHERWISE,
    }
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who plays whom: donors fill the pools, checkers send the probes that must not see the donors' text."""

    donors: tuple[Tenant, ...]
    checkers: tuple[Tenant, ...]


def cast(tenants: Sequence[Tenant]) -> Cast:
    """Split at least two tenants; with an odd number there is one checker more, for fresh re-probes."""
    half = len(tenants) // 2
    return Cast(donors=tuple(tenants[:half]), checkers=tuple(tenants[half:]))


class Course:
    """One scenario under way. Its sub-generators share it; the scenario's own code stays a plain list of steps."""

    def __init__(self, scenario: str, stage: Stage) -> None:
        self.scenario = scenario
        self.stage = stage
        self.cast = cast(stage.tenants)
        self.judgements: list[Judgement] = []
        self.has_confirmed_violation = False
        self.is_hit_reproduced = False
        self.max_probes: int | None = None
        """Probes after which the scenario is over, all of its own counted."""
        self._drafted = 0
        self._unanswered = 0

    @property
    def must_stop(self) -> bool:
        """A shared target has shown one confirmed violation, the target stopped answering, or all probes are sent."""
        is_spent = self.max_probes is not None and len(self.judgements) >= self.max_probes
        is_enough = self.stage.target.shared and self.has_confirmed_violation
        return is_enough or is_spent or self._unanswered >= PATIENCE

    def is_new_hit(self, judgement: Judgement) -> bool:
        """A hit, while none was seen twice yet; later ones add nothing that a re-probe could settle."""
        return is_hit(judgement) and not (self.has_confirmed_violation or self.is_hit_reproduced)

    def checker(self, number: int) -> Tenant:
        """Return the checker whose turn it is; any non-negative number."""
        return self.cast.checkers[number % len(self.cast.checkers)]

    def donor(self, number: int) -> Tenant:
        """Return the donor whose turn it is; any non-negative number."""
        return self.cast.donors[number % len(self.cast.donors)]

    def draft(self, role: Role, tenant: Tenant, tokens: int) -> Probe:
        """Plan one probe of `tokens`, its expectation from the limits known; over-limit ones cap their output."""
        target, settings = self.stage.target, self.stage.settings
        tokens = max(tokens, self.stage.calibration.smallest_tokens)
        probe = Probe(
            label=self._next_label(),
            scenario=self.scenario,
            tenant=tenant,
            role=role,
            prompt=PromptSpec(tokens=tokens, form=target.text_form, ask=target.ask),
            expectation=self._expect(tokens, settings.over_limit_max_output_tokens),
            max_output_tokens=settings.over_limit_max_output_tokens,
        )
        if target.thinking and self._expect(tokens, THINKING_OUTPUT_TOKENS) is Expectation.SERVE:
            return dataclasses.replace(probe, max_output_tokens=THINKING_OUTPUT_TOKENS)
        return probe

    def redraft(self, probe: Probe, spec: PromptSpec) -> Probe:
        """Plan the same probe again with a text whose length is known to the token."""
        expected = self._expect(spec.tokens or 0, probe.max_output_tokens, is_exact=True)
        return dataclasses.replace(probe, label=self._next_label(), prompt=spec, expectation=expected)

    def send(self, probes: Iterable[Probe], purpose: str) -> Generator[Wave, WaveEvidence, tuple[Judgement, ...]]:
        """Send in waves that fit, in order; ends early when the scenario must stop. Returns what came back."""
        received: list[Judgement] = []
        for wave in pack(probes, purpose):
            if self.must_stop:
                break
            evidence = yield wave
            for judgement in evidence:
                self._keep(judgement)
            received.extend(evidence)
        return tuple(received)

    def _keep(self, judgement: Judgement) -> None:
        self.judgements.append(judgement)
        self.has_confirmed_violation |= judgement.is_confirmed_violation
        self._unanswered = self._unanswered + 1 if judgement.evidence.answer in _UNANSWERED else 0

    def _next_label(self) -> str:
        self._drafted += 1
        return f"{self.scenario}/{self._drafted:04d}"

    def _expect(self, tokens: int, max_output_tokens: int, *, is_exact: bool = False) -> Expectation:
        def slack(length: int) -> int:
            calibration = self.stage.calibration
            return (
                0 if is_exact or calibration.is_exact else calibration.tolerance(int(length / calibration.line_tokens))
            )

        verified = baseline_tokens(self.stage)
        return expectation(
            self.stage.target,
            tokens,
            max_output_tokens,
            verified_tokens=verified + slack(verified),
            slack_tokens=slack(tokens),
        )


def pack(probes: Iterable[Probe], purpose: str) -> Iterator[Wave]:
    """Group probes into waves, in order: few, at most 3M prompt tokens together, an over-limit one always alone."""
    group: list[Probe] = []
    for probe in probes:
        if group and not _fits(group, probe):
            yield Wave(probes=tuple(group), purpose=purpose)
            group = []
        group.append(probe)
    if group:
        yield Wave(probes=tuple(group), purpose=purpose)


def _fits(group: Sequence[Probe], probe: Probe) -> bool:
    tokens = sum(member.prompt.tokens or 0 for member in (*group, probe))
    is_any_over_limit = any(member.is_over_limit for member in (*group, probe))
    return len(group) < MAX_WAVE_PROBES and tokens <= MAX_WAVE_TOKENS and not is_any_over_limit
