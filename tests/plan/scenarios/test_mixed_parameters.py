"""Constrained beside free requests, against batches whose rows keep what their last request was held to."""

import dataclasses
from collections.abc import Callable

import pytest

from prober.detect.reasoning import LEAST_REFERENCES, is_cut_on_purpose
from prober.domain.answer import Answer
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Role, Wave
from prober.domain.target import Ask
from prober.plan.scenarios.mixed_parameters import (
    BIASED_OUTPUT_TOKENS,
    CHOICES,
    FAVOURED_TOKENS,
    LEAST_ALONE,
    REASONING_BUDGETS,
    mixed_parameters,
)
from tests.support.judged import assert_goes_on_until_excluded, assert_says_how_many_are_missing
from tests.support.scripted import OnWave, Played, Reply, Respond, play, stage_of, target_of, unheard

COLLAPSED = Reply(outcome=Outcome.SUSPECT, reason=Reason.VOCABULARY_COLLAPSED)
HELD = dataclasses.replace(COLLAPSED, outcome=Outcome.VIOLATION, is_confirmed=True)


def played_against(
    respond: Respond,
    *,
    shared: bool = False,
    thinking: bool = False,
    on_wave: OnWave = unheard,
    tenants: int = 3,
    **settings: object,
) -> Played:
    target = target_of(shared=shared, thinking=thinking)
    return play(mixed_parameters(stage_of(target, tenants=tenants, **settings)), target, respond, on_wave=on_wave)


def sound(_probe: Probe, _tokens: int) -> Reply:
    return Reply()


def is_constrained(probe: Probe) -> bool:
    return bool(probe.options.choices)


def is_biased(probe: Probe) -> bool:
    return probe.options.favoured_token is not None


class Condensed:
    """The last row moves into that of one that leaves sooner, and keeps what that one was held to."""

    def __init__(self, reply: Reply, leaves: Callable[[Probe], bool]) -> None:
        self.reply = reply
        self.leaves = leaves
        self.moved: set[str] = set()

    def on_wave(self, wave: Wave) -> None:
        rows = list(wave.probes)
        leaving = [probe for probe in rows if self.leaves(probe)]
        stay = [probe for probe in rows if not probe.options.choices and not is_biased(probe)]
        self.moved = {probe.label for probe in stay[-len(leaving) :]} if leaving else set()

    def __call__(self, probe: Probe, _tokens: int) -> Reply:
        return self.reply if probe.label in self.moved else Reply()


@pytest.mark.parametrize("leaves", [is_constrained, is_biased])
def test_a_row_that_keeps_its_mask_or_bias_is_met(leaves: Callable[[Probe], bool]):
    """Constrained and biased requests both leave beside free ones of another tenant; the first such wave ends it."""
    target = Condensed(HELD, leaves)
    played = played_against(target, shared=True, on_wave=target.on_wave)
    assert played.judgements[-1].evidence.probe.role is Role.CHECK
    hits = [j.evidence.probe for j in played.judgements if j.is_confirmed_violation]
    assert hits
    assert {probe.role for probe in hits} == {Role.CHECK}
    assert any(map(leaves, played.waves[-1].probes))


def test_a_collapse_is_confirmed_by_the_same_mix():
    """Neighbours go again beside free confirmations."""
    target = Condensed(COLLAPSED, is_constrained)
    played = played_against(target, on_wave=target.on_wave, rounds=1)
    checked, confirmed = played.waves[-2:]
    assert [probe.role for probe in checked.probes] == [Role.NEIGHBOUR] * 4 + [Role.CHECK] * 4
    assert [probe.role for probe in confirmed.probes] == [Role.NEIGHBOUR] * 4 + [Role.CONFIRMATION] * 4
    assert [probe.options for probe in checked.probes] == [probe.options for probe in confirmed.probes]


def test_free_questions_are_answered_alone_before_they_stand_beside_constrained_ones():
    """The positive control: what cannot be answered undisturbed tells nothing."""
    played = played_against(sound)
    alone = [probe for wave in played.waves[:4] for probe in wave.probes]
    assert {probe.role for probe in alone} == {Role.REFERENCE}
    assert not any(is_constrained(probe) or is_biased(probe) for probe in alone)
    assert Role.REFERENCE not in {probe.role for wave in played.waves[4:] for probe in wave.probes}


@pytest.mark.parametrize("concurrency", [2, 3, 8])
def test_every_wave_mixes_both_and_neither_tenant_plays_both_parts(concurrency: int):
    """Neighbours come first in each wave, and are donors; free ones are checkers."""
    played = played_against(sound, concurrency=concurrency)
    half = concurrency // 2
    mixed = [wave for wave in played.waves if any(probe.role is Role.CHECK for probe in wave.probes)]
    assert len(mixed) == 8
    for wave in mixed:
        assert [probe.role for probe in wave.probes] == [Role.NEIGHBOUR] * half + [Role.CHECK] * half
        assert all(is_constrained(probe) != is_biased(probe) for probe in wave.probes[:half])
        assert not any(is_constrained(probe) or is_biased(probe) for probe in wave.probes[half:])
        donors = {probe.tenant for probe in wave.probes[:half]}
        assert donors.isdisjoint(probe.tenant for probe in wave.probes[half:])


def test_all_constraints_and_biases_are_used_and_biased_answers_are_cut_soon():
    """Two neighbours of a wave have different choices; free answers are long and short, longer than any neighbour's."""
    played = played_against(sound)
    neighbours = [probe for probe in played.probes if probe.role is Role.NEIGHBOUR]
    assert {probe.options.choices for probe in neighbours if is_constrained(probe)} == set(CHOICES)
    assert {probe.options.favoured_token for probe in neighbours if is_biased(probe)} == set(FAVOURED_TOKENS)
    assert {probe.max_output_tokens for probe in neighbours if is_biased(probe)} == {BIASED_OUTPUT_TOKENS}
    for wave in played.waves[4:]:
        choices = [probe.options.choices for probe in wave.probes if is_constrained(probe)]
        assert len(set(choices)) > 1
    free = [j.evidence.probe for j in played.of(Role.CHECK)]
    assert {probe.prompt.ask for probe in free} == {Ask.ONE_FACT, target_of().ask}
    assert all(probe.max_output_tokens > BIASED_OUTPUT_TOKENS for probe in free)
    short = played_against(sound, over_limit_max_output_tokens=4)
    assert {probe.max_output_tokens for probe in short.probes} == {4}


def test_a_leak_rate_is_excluded_or_said_not_to_be():
    """Rounds go on until the checks suffice; else their number is told."""
    assert played_against(sound).returned == ()
    assert_goes_on_until_excluded(mixed_parameters)
    assert_says_how_many_are_missing(mixed_parameters)


def budget_of(probe: Probe) -> int | None:
    return probe.options.reasoning_budget


def refusing_budgets(probe: Probe, _tokens: int) -> Reply:
    return Reply() if budget_of(probe) is None else Reply(answer=Answer.REFUSED_OTHERWISE)


def test_only_a_thinking_target_is_sent_reasoning_budgets():
    """Others have no field for them, and nothing that a budget could end."""
    assert {budget_of(probe) for probe in played_against(sound).probes} == {None}
    assert {budget_of(probe) for probe in played_against(sound, thinking=True).probes} == {None, *REASONING_BUDGETS}


def test_each_budget_is_shown_undisturbed_before_it_stands_beside_free_answers():
    """By itself once, to its end; and free answers alone often enough to know how long they reason."""
    for concurrency in (2, 8):
        played = played_against(sound, thinking=True, concurrency=concurrency)
        references = [judgement.evidence.probe for judgement in played.of(Role.REFERENCE)]
        free = [probe for probe in references if budget_of(probe) is None]
        bound = references[len(free) :]
        assert len(free) == max(concurrency, LEAST_ALONE) >= LEAST_REFERENCES
        assert [budget_of(probe) for probe in bound] == list(REASONING_BUDGETS)
        assert not any(map(is_cut_on_purpose, references))
        assert played.probes[: len(references)] == references


@pytest.mark.parametrize("concurrency", [2, 3, 8])
def test_budgeted_neighbours_leave_in_their_reasoning_beside_others_of_every_sort(concurrency: int):
    """One budget per wave, in turn; choices and biases go on beside them."""
    played = played_against(sound, thinking=True, concurrency=concurrency, rounds=12)
    mixed = [wave for wave in played.waves if any(probe.role is Role.CHECK for probe in wave.probes)]
    assert len(mixed) == 12
    for wave in mixed:
        assert [probe.role for probe in wave.probes] == [Role.NEIGHBOUR] * (concurrency // 2) + [Role.CHECK] * (
            concurrency // 2
        )
        bound = [probe for probe in wave.probes if budget_of(probe) is not None]
        assert len({budget_of(probe) for probe in bound}) <= 1
        assert all(map(is_cut_on_purpose, bound))
        sorts = [is_constrained(probe) + is_biased(probe) + (budget_of(probe) is not None) for probe in wave.probes]
        assert sorts == [1] * (concurrency // 2) + [0] * (concurrency // 2)
    neighbours = [judgement.evidence.probe for judgement in played.of(Role.NEIGHBOUR)]
    assert {budget_of(probe) for probe in neighbours} == {None, *REASONING_BUDGETS}
    assert {probe.options.choices for probe in neighbours if is_constrained(probe)} == set(CHOICES)
    assert any(map(is_biased, neighbours))


def test_a_target_that_refuses_budgets_gets_no_more_of_them_and_the_run_says_so():
    """Unknown fields are refused by some; choices and biases are judged all the same."""
    played = played_against(refusing_budgets, thinking=True)
    assert len([probe for probe in played.probes if budget_of(probe) is not None]) == 1
    assert len(played.of(Role.CHECK)) == len(played_against(sound, thinking=True).of(Role.CHECK))
    (shortfall,) = played.returned
    assert "refuses reasoning budgets" in shortfall
    assert played_against(sound, thinking=True).returned == ()
