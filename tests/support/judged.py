"""Plays scenarios against scripted targets whose answers the real detectors judge, in a history that the run folds."""

import dataclasses
import itertools
from collections.abc import Callable, Sequence

from prober.detect.history import advance, beginning
from prober.domain.canary import Canary
from prober.domain.evidence import Evidence, Judgement
from prober.domain.finding import Finding, Reason
from prober.domain.observation import Timeline, Usage
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Role
from prober.domain.prompt import NeedlePosition
from prober.domain.reading import Recall
from prober.domain.target import Target
from prober.plan.stage import Scenario, Waves
from prober.plan.trials import checks_for
from prober.prompt.word_stream import WORDS_PER_LINE
from tests.support.scripted import Played, Reply, healthy, judge, lines_size, play, sent_size, stage_of, target_of

MAX_WAVES = 2_000

Detect = Callable[[Evidence], tuple[Finding, ...]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seen:
    """What is seen of one answer, beside its text."""

    is_found: bool = True
    cached_tokens: int | None = None
    first_token_seconds: float = 1.0
    system_fingerprint: str | None = None


def play_judged(
    generator: Waves, target: Target, see: Callable[[Probe, Canary], Seen], detect: Detect, *, has_timings: bool = True
) -> Played:
    """Play a generator to its end; each answer is served, judged by `detect`, and folded into the history."""
    played, history, serial = Played(waves=[], judgements=[]), beginning(), 0
    try:
        wave = next(generator)
        while True:
            assert len(played.waves) < MAX_WAVES, "the generator does not end"
            played.waves.append(wave)
            judgements = []
            for probe in wave.probes:
                serial += 1
                canary = probe.prompt.rewrite_of or Canary.of(probe.tenant.number, 0, serial)
                evidence = _evidence(target, probe, canary, see(probe, canary), has_timings=has_timings)
                evidence = dataclasses.replace(evidence, history=history)
                judgement = Judgement(evidence=evidence, findings=detect(evidence) or (_sound(probe),))
                history = advance(history, judgement)
                judgements.append(judgement)
            played.judgements.extend(judgements)
            wave = generator.send(tuple(judgements))
    except StopIteration as end:
        played.returned = end.value
    return played


def _evidence(target: Target, probe: Probe, canary: Canary, seen: Seen, *, has_timings: bool) -> Evidence:
    tokens = sent_size(probe, canary)
    lines = (tokens - lines_size(dataclasses.replace(probe.prompt, filler_lines=0))) // 17
    evidence = judge(target, probe, tokens, Reply(), canary=canary).evidence
    asked = (NeedlePosition.END,)
    return dataclasses.replace(
        evidence,
        prompt=dataclasses.replace(evidence.prompt, filler_words=WORDS_PER_LINE * lines),
        observation=dataclasses.replace(
            evidence.observation,
            usage=Usage(prompt_tokens=tokens, cached_tokens=seen.cached_tokens),
            timeline=Timeline(first_token=seen.first_token_seconds if has_timings else None),
            system_fingerprint=seen.system_fingerprint,
            is_stream=probe.stream,
            is_terminated=True,
        ),
        reading=dataclasses.replace(evidence.reading, recall=Recall(asked=asked, found=asked if seen.is_found else ())),
    )


def _sound(probe: Probe) -> Finding:
    return Finding(
        detector="scripted", outcome=Outcome.CLEAN, reason=Reason.SERVED, message="Sound.", probe_label=probe.label
    )


def reasons(played: Played, outcome: Outcome) -> Sequence[tuple[Role, Reason]]:
    """Role and reason of all findings of an outcome, in order."""
    return [
        (judgement.evidence.probe.role, finding.reason)
        for judgement in played.judgements
        for finding in judgement.findings
        if finding.outcome is outcome
    ]


def assert_goes_on_until_excluded(scenario: Scenario, *, overshoot: int = 20) -> None:
    """As many clean checks are made as 2 % take at 95 %, and hardly more; none is then said to be missing."""
    stage = stage_of(target_of(), rounds=1, excluded_leak_rate=0.02)
    played = play(scenario(stage), target_of(), lambda probe, _: healthy(probe), max_waves=MAX_WAVES)
    assert checks_for(0.02) <= len(played.of(Role.CHECK)) < checks_for(0.02) + overshoot
    assert not any("missing" in sentence for sentence in played.returned)


def assert_says_how_many_are_missing(scenario: Scenario) -> None:
    """Where three checks in four tell nothing, the rate is not excluded, and the bound that was reached is named."""
    replies = itertools.cycle([Reply(outcome=Outcome.INCONCLUSIVE, reason=Reason.RECALL_MISSED)] * 3 + [Reply()])
    played = play(
        scenario(stage_of(target_of(), rounds=1, excluded_leak_rate=0.1)),
        target_of(),
        lambda probe, _: next(replies) if probe.role is Role.CHECK else healthy(probe),
        max_waves=MAX_WAVES,
    )
    clean = sum(judgement.outcome is Outcome.CLEAN for judgement in played.of(Role.CHECK))
    assert 0 < clean < checks_for(0.1)
    assert f"{clean} of the 29" in played.returned[-1]
    assert f"{29 - clean} are missing" in played.returned[-1]
