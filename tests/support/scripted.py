"""Scripted targets: pure functions from a probe to what came back, and a player for generators of waves."""

import dataclasses
import datetime as dt
import hashlib
from collections.abc import Callable, Generator, Sequence
from typing import Any

from prober.domain.answer import Answer
from prober.domain.campaign import ScenarioSettings
from prober.domain.canary import Canary
from prober.domain.evidence import Evidence, History, Judgement
from prober.domain.finding import Finding, Reason
from prober.domain.mark import AnswerMark
from prober.domain.observation import Observation, Refusal, RefusalReason, Timeline, Usage
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, PromptSpec, Role, Wave
from prober.domain.prompt import NeedlePosition, Prompt
from prober.domain.reading import Reading, Recall
from prober.domain.target import Target
from prober.domain.tenant import Tenant
from prober.plan.stage import Stage
from prober.prompt.tokens import Calibration, calibrate, calibration_specs

CONTEXT = 1_048_576
POOL = 681_280
DECODE_POOL = 1_100_032
FIRST_REJECTED = 681_274
MAX_WAVES = 300


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reply:
    """What a scripted target does with one probe."""

    answer: Answer = Answer.SERVED_FULL
    outcome: Outcome = Outcome.CLEAN
    reason: Reason = Reason.SERVED
    is_confirmed: bool = False
    is_end_found: bool = True
    is_counted: bool = True
    prompt_tokens: int | None = None
    """Overrides the true count."""
    stated_limits: tuple[int, ...] = ()
    first_token_seconds: float | None = None
    end_seconds: float | None = None


Respond = Callable[[Probe, int], Reply]
Count = Callable[[Probe, Canary], int]
OnWave = Callable[[Wave], None]


def unheard(_wave: Wave) -> None:
    """For targets that need not know what comes together."""


def sent_size(probe: Probe, canary: Canary) -> int:
    """One token per word: the plan is the count; prompts planned by lines cost what they cost a rehearsal."""
    spec = probe.prompt
    return lines_size(spec) if spec.tokens is None else spec.tokens


def lines_size(spec: PromptSpec) -> int:
    """160 tokens, 17 per line and 16 per instruction."""
    return 160 + 17 * (spec.filler_lines or 0) + 16 * spec.instruction_lines


def text_sha256(probe: Probe, canary: Canary) -> str:
    """Stand-in for the hash of a prompt's text: the same for the same plan under the same canary."""
    plan = dataclasses.replace(probe.prompt, rewrite_of=None)
    return hashlib.sha256(f"{canary} {plan}".encode()).hexdigest()


@dataclasses.dataclass
class Played:
    """What one generator sent and received."""

    waves: list[Wave]
    judgements: list[Judgement]
    returned: Any = None

    @property
    def probes(self) -> list[Probe]:
        return [probe for wave in self.waves for probe in wave.probes]

    def of(self, *roles: Role) -> list[Judgement]:
        return [judgement for judgement in self.judgements if judgement.evidence.probe.role in roles]


def target_of(**changes: object) -> Target:
    """The incident's sizes, unless changed."""
    given = {
        "name": "incident",
        "model": "glm",
        "dialect": "openai-chat",
        "context_tokens": CONTEXT,
        "prefill_pool_tokens": POOL,
        "decode_pool_tokens": DECODE_POOL,
        "shared": False,
    }
    return Target(**(given | changes))


def tenants_of(count: int) -> tuple[Tenant, ...]:
    return tuple(Tenant(name=f"tenant-{number}", number=number) for number in range(count))


def exact_calibration() -> Calibration:
    form = target_of().text_form
    return calibrate(form, [lines_size(spec) for spec in calibration_specs(form)], ask=target_of().ask)


def stage_of(
    target: Target,
    *,
    tenants: int = 3,
    calibration: Calibration | None = None,
    reference: Sequence[AnswerMark] = (),
    **settings: object,
) -> Stage:
    return Stage(
        target=target,
        tenants=tenants_of(tenants),
        settings=ScenarioSettings(**settings),
        calibration=calibration or exact_calibration(),
        reference=tuple(reference),
    )


def judge(target: Target, probe: Probe, tokens: int, reply: Reply, **more: object) -> Judgement:
    """Synthesise what runner and detectors would have made of a reply."""
    is_rejected = reply.answer.is_rejected
    counted = tokens if reply.prompt_tokens is None else reply.prompt_tokens
    reported = counted if reply.is_counted else None
    refusal = None
    canary = more.get("canary", Canary.of(probe.tenant.number, 0, 1))
    if is_rejected:
        refusal = Refusal(reason=RefusalReason.LENGTH, stated_limits=reply.stated_limits, stated_tokens=reported)
    evidence = Evidence(
        target=target,
        probe=probe,
        prompt=Prompt(
            canary=canary,
            text="",
            needles=(),
            filler_words=0,
            planned_tokens=probe.prompt.tokens,
            token_tolerance=more.get("tolerance", 2),
            text_sha256=text_sha256(probe, canary),
        ),
        observation=Observation(
            sent_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
            status=200,
            refusal=refusal,
            usage=Usage(prompt_tokens=reported if reply.answer.is_served else None),
            timeline=Timeline(first_token=reply.first_token_seconds, end=reply.end_seconds),
            model_reported="glm",
            is_stream=True,
        ),
        answer=reply.answer,
        reading=Reading(
            characters=0,
            words=0,
            sha256="",
            recall=Recall(asked=(NeedlePosition.END,), found=(NeedlePosition.END,) if reply.is_end_found else ()),
        ),
        history=more.get("history", History()),
    )
    finding = Finding(
        detector="scripted",
        outcome=reply.outcome,
        reason=reply.reason,
        message="Scripted.",
        probe_label=probe.label,
        is_confirmed=reply.is_confirmed,
    )
    return Judgement(evidence=evidence, findings=(finding,))


def play(
    generator: Generator[Wave, Any, Any],
    target: Target,
    respond: Respond,
    *,
    count: Count = sent_size,
    tolerance: int = 2,
    max_waves: int = MAX_WAVES,
    on_wave: OnWave = unheard,
) -> Played:
    """Play a generator to its end; fails if it does not end. `on_wave` tells a target what comes together."""
    played = Played(waves=[], judgements=[])
    serial = 0
    anchors: dict[int, tuple[float, ...]] = {}
    try:
        wave = next(generator)
        while True:
            assert len(played.waves) < max_waves, "the generator does not end"
            played.waves.append(wave)
            on_wave(wave)
            evidence = []
            for probe in wave.probes:
                serial += 1
                canary = probe.prompt.rewrite_of or Canary.of(probe.tenant.number, 0, serial)
                tokens = count(probe, canary)
                history = History(anchors=dict(anchors))
                if probe.role is Role.ANCHOR:
                    anchors[tokens] = (*anchors.get(tokens, ()), 3.0)
                evidence.append(
                    judge(
                        target,
                        probe,
                        tokens,
                        respond(probe, tokens),
                        canary=canary,
                        history=history,
                        tolerance=tolerance,
                    )
                )
            played.judgements.extend(evidence)
            wave = generator.send(tuple(evidence))
    except StopIteration as end:
        played.returned = end.value
    return played


REJECTED = Reply(answer=Answer.REJECTED_OK, reason=Reason.REJECTED_AS_DUE)
REFUSED = Reply(answer=Answer.REFUSED_OTHERWISE, reason=Reason.REFUSED_AS_DUE)
ABANDONED = Reply(answer=Answer.ABANDONED, reason=Reason.ABANDONED)
LEAK = Reply(outcome=Outcome.VIOLATION, reason=Reason.FOREIGN_CANARY, is_confirmed=True)
TOO_FAST = Reply(outcome=Outcome.SUSPECT, reason=Reason.PREFILL_TOO_FAST)


def failing(answer: Answer) -> Reply:
    """Neither served nor refused for its length."""
    return Reply(answer=answer, outcome=Outcome.INCONCLUSIVE, reason=Reason(answer.value))


def healthy(probe: Probe, served: Reply = Reply()) -> Reply:
    """What is due for a prompt that fits: a broken request refused, a hang-up noticed, everything else `served`."""
    if probe.options.malformation is not None:
        return REFUSED
    return served if probe.disconnect is None else ABANDONED


def serving_below(limit: int, beyond: Reply = REJECTED) -> Respond:
    """Serves prompts shorter than `limit`, replies `beyond` from there on."""
    return lambda probe, tokens: healthy(probe) if tokens < limit else beyond


def incident(probe: Probe, tokens: int) -> Reply:
    """Leaks from the first token count that the prefill pool rejects, up to the context window."""
    if tokens >= CONTEXT:
        return dataclasses.replace(REJECTED, stated_limits=(CONTEXT,))
    return LEAK if tokens >= FIRST_REJECTED else Reply()


def noisy(spread: int) -> Count:
    """A tokenizer in which words are not one token each: each canary's text misses the plan by its own amount."""

    def count(probe: Probe, canary: Canary) -> int:
        miss = canary.probe_number * 7_919 % (2 * spread + 1) - spread
        return (probe.prompt.tokens or 0) + miss + probe.prompt.pad_adjust

    return count


def inexact_calibration() -> Calibration:
    return dataclasses.replace(exact_calibration(), is_exact=False, spread_tokens=0.5, line_error_tokens=0.01)
