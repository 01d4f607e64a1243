"""One scenario under way: casts the tenants, drafts and sends probes, keeps their judgements, says when to stop."""

import dataclasses
from collections.abc import Generator, Iterable, Iterator

from prober.domain.answer import Answer
from prober.domain.evidence import Judgement, WaveEvidence
from prober.domain.options import Trial
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation, Probe, PromptSpec, Role, SharedText, Wave
from prober.domain.target import Ask
from prober.domain.tenant import Tenant
from prober.plan.casting import cast
from prober.plan.lengths import FACT_LINES, baseline_tokens, size_of
from prober.plan.limits import expectation, is_hit
from prober.plan.packing import pack
from prober.plan.stage import Curtailed, Stage
from prober.plan.trials import checks_for, missing_checks

THINKING_OUTPUT_TOKENS = 2_048
"""Room to reason before the answer; only for probes that fit, never for over-limit ones."""

PATIENCE = 3
"""Probes in a row without an answer or a refusal that says anything, after which a scenario leaves the target alone."""

LIVENESS_TRIES = 2
"""Of the plain generation after a storm: a target may restart once, and only what fails twice is wedged."""

MAX_CHECKS_SHARE = 2
"""Checks sent at most, per clean check that a leak rate needs: where half of them tell nothing, more will not help."""

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

Step = Generator[Wave, WaveEvidence, tuple[Judgement, ...]]
"""Part of a scenario: sends waves and returns what came back, in order."""


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
        self.checks = 0
        self.clean_checks = 0
        self._drafted = 0
        self._unanswered = 0
        self._is_curtailed = False

    @property
    def must_stop(self) -> bool:
        """A shared target leaked for sure, the target stopped answering, or no probe is left to be sent."""
        return self._is_over or self._unanswered >= PATIENCE

    def rounds(self, least: int | None = None) -> Iterator[int]:
        """Count the rounds to play, from 0, and on until a leak rate is excluded, should one be named.

        Each further round must bring checks. A leak that was found twice has no rate left to exclude.

        Args:
            least: rounds to play in any case, for a scenario whose rounds are long; None: as many as set.
        """
        wanted = self.stage.settings.rounds if least is None else least
        number, checks = 0, -1
        while not self.must_stop and (number < wanted or self._lacks_checks(checks)):
            checks = self.checks
            yield number
            number += 1

    def shortfall(self) -> tuple[str, ...]:
        """Say how many clean checks are missing to exclude the leak rate that the settings name."""
        return missing_checks(self.scenario, self.stage.settings.excluded_leak_rate, self.clean_checks)

    def is_new_hit(self, judgement: Judgement) -> bool:
        """A hit, while none was seen twice yet; later ones add nothing that a re-probe could settle."""
        return is_hit(judgement) and not (self.has_confirmed_violation or self.is_hit_reproduced)

    def checker(self, number: int) -> Tenant:
        """Return the checker whose turn it is; any non-negative number."""
        return self.cast.checkers[number % len(self.cast.checkers)]

    def donor(self, number: int) -> Tenant:
        """Return the donor whose turn it is; any non-negative number. Donors are the checkers' neighbours too."""
        return self.cast.donors[number % len(self.cast.donors)]

    def draft(self, role: Role, tenant: Tenant, tokens: int, *, shared: SharedText | None = None) -> Probe:
        """Plan one probe of `tokens`, its expectation from the limits known; over-limit ones cap their output."""
        target = self.stage.target
        smallest = self.stage.calibration.smallest_of(target.ask, 0 if shared is None else shared.lines)
        tokens = max(tokens, smallest)
        return self._plan(role, tenant, PromptSpec(tokens=tokens, form=target.text_form, ask=target.ask, shared=shared))

    def fact(self, role: Role, tenant: Tenant, lines: int = FACT_LINES, *, shared: SharedText | None = None) -> Probe:
        """Plan one short question whose answer names its prompt, behind so many filler lines: size known roughly."""
        form = self.stage.target.text_form
        return self._plan(role, tenant, PromptSpec(filler_lines=lines, form=form, ask=Ask.ONE_FACT, shared=shared))

    def replay(self, judgement: Judgement, tenant: Tenant, role: Role, trial: Trial | None = None) -> Probe:
        """Plan an earlier probe again, byte for byte, by any tenant; its planned hang-up and request id fall away."""
        probe, prompt = judgement.evidence.probe, judgement.evidence.prompt
        return dataclasses.replace(
            probe,
            label=self._next_label(),
            tenant=tenant,
            role=role,
            prompt=dataclasses.replace(probe.prompt, rewrite_of=prompt.canary),
            start_offset_seconds=0.0,
            disconnect=None,
            options=dataclasses.replace(probe.options, request_id=None),
            trial=trial,
        )

    def redraft(self, probe: Probe, spec: PromptSpec) -> Probe:
        """Plan the same probe again with a text whose length is known to the token."""
        expected = self._expect(spec.tokens or 0, probe.max_output_tokens, is_exact=True)
        return dataclasses.replace(probe, label=self._next_label(), prompt=spec, expectation=expected)

    def send(self, probes: Iterable[Probe], purpose: str) -> Step:
        """Send in waves that fit, in order; ends early when the scenario must stop. Returns what came back."""
        return (yield from self._send(pack(probes, purpose, self.stage.calibration)))

    def together(self, probes: Iterable[Probe], purpose: str) -> Step:
        """Send short probes in as few waves as the settings' concurrency allows, in order; else as `send`.

        Start offsets and overlaps hold within a wave only: what belongs together must not outnumber `concurrency`.
        """
        waves = pack(probes, purpose, self.stage.calibration, most=self.stage.settings.concurrency)
        return (yield from self._send(waves))

    def see_alive(self) -> Step:
        """Send a plain generation, the smallest there is, by a checker, after a storm; another one where it fails.

        It is sent to a target that stopped answering too: what hung beside a storm may have been the storm's.
        """
        received: tuple[Judgement, ...] = ()
        for _ in range(LIVENESS_TRIES):
            if self._is_over or any(judgement.evidence.answer not in _UNANSWERED for judgement in received):
                break
            probe = self.fact(Role.LIVENESS, self.checker(len(self.judgements)))
            wave = Wave(probes=(probe,), purpose="see whether a plain prompt is still answered")
            received += yield from self._play(wave)
        return received

    def _send(self, waves: Iterable[Wave]) -> Step:
        received: list[Judgement] = []
        for wave in waves:
            if self.must_stop:
                break
            received.extend((yield from self._play(wave)))
        return tuple(received)

    def _play(self, wave: Wave) -> Step:
        try:
            evidence = yield wave
        except Curtailed:
            self._is_curtailed = True
            return ()
        for judgement in evidence:
            self._keep(judgement)
        return evidence

    @property
    def _is_over(self) -> bool:
        is_spent = self.max_probes is not None and len(self.judgements) >= self.max_probes
        is_enough = self.stage.target.shared and self.has_confirmed_violation
        return is_spent or is_enough or self._is_curtailed

    def _keep(self, judgement: Judgement) -> None:
        self.judgements.append(judgement)
        self.has_confirmed_violation |= judgement.is_confirmed_violation
        if judgement.evidence.probe.role is Role.CHECK:
            self.checks += 1
            self.clean_checks += judgement.outcome is Outcome.CLEAN
        if not _was_wanted(judgement):
            self._unanswered = self._unanswered + 1 if judgement.evidence.answer in _UNANSWERED else 0

    def _lacks_checks(self, before: int) -> bool:
        rate = self.stage.settings.excluded_leak_rate
        if rate is None or self.checks == before or self.has_confirmed_violation or self.is_hit_reproduced:
            return False
        wanted = checks_for(rate)
        return self.clean_checks < wanted and self.checks < MAX_CHECKS_SHARE * wanted

    def _plan(self, role: Role, tenant: Tenant, spec: PromptSpec) -> Probe:
        target, settings = self.stage.target, self.stage.settings
        tokens = size_of(spec, self.stage.calibration)
        probe = Probe(
            label=self._next_label(),
            scenario=self.scenario,
            tenant=tenant,
            role=role,
            prompt=spec,
            expectation=self._expect(tokens, settings.over_limit_max_output_tokens),
            max_output_tokens=settings.over_limit_max_output_tokens,
        )
        if target.thinking and self._expect(tokens, THINKING_OUTPUT_TOKENS) is Expectation.SERVE:
            return dataclasses.replace(probe, max_output_tokens=THINKING_OUTPUT_TOKENS)
        return probe

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


def _was_wanted(judgement: Judgement) -> bool:
    """A hang-up of ours, or the refusal of a request that we broke: neither a sign of life nor of its absence."""
    evidence = judgement.evidence
    if evidence.answer is Answer.ABANDONED:
        return True
    is_refused = evidence.answer is Answer.REFUSED_OTHERWISE or evidence.answer.is_rejected
    return is_refused and evidence.probe.options.malformation is not None
