"""Foreign text on its way to the vault."""

import dataclasses
from collections.abc import Sequence

import pytest

from prober.domain.campaign import Run
from prober.domain.errors import LedgerError
from prober.domain.evidence import Judgement
from prober.domain.excerpt import Excerpt, ExcerptBounds
from prober.domain.finding import Reason
from prober.domain.observation import Observation
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from prober.domain.verdict import RunReport
from prober.runner import vaulting
from prober.runner.run import execute
from prober.runner.vaulting import COMPONENT
from tests.support.fake_llm import LIMIT, FakeLlm
from tests.support.ports import World, small_run

CUSTOMER = "Mustermann Huber IBAN DE89 3704 0044 0532 0130 00 diagnosis Lupus"


class KeepingVault:
    """Keeps in memory; says in the journal when, and whether the answer was recorded by then."""

    def __init__(self, world: World, fault: Exception | None = None, excerpt: int = 400) -> None:
        self.world = world
        self.fault = fault
        self.bounds = ExcerptBounds(excerpt=excerpt)
        self.kept: list[tuple[str, Judgement, list[str]]] = []

    async def keep(self, run: Run, judgement: Judgement, excerpts: Sequence[Excerpt]) -> None:
        self.world.journal.append(("keep", judgement.evidence.probe.label))
        if self.fault is not None:
            raise self.fault
        self.kept.append((run.run_id, judgement, [excerpt.text for excerpt in excerpts]))


def leaking_world() -> World:
    """Over the limit, answers hold a customer's text before another probe's."""
    llm = FakeLlm(leaks=True)

    def respond(probe: Probe, prompt: Prompt) -> Observation:
        answer = llm.observe(probe, prompt)
        is_over = answer.usage.prompt_tokens is not None and answer.usage.prompt_tokens >= LIMIT
        return dataclasses.replace(answer, text=f"{CUSTOMER} {answer.text}") if is_over else answer

    return World(respond)


async def run_with(world: World, vault: KeepingVault) -> RunReport:
    run = small_run("baseline", "seed_and_probe")
    return await execute(run, world.instruments, dataclasses.replace(world.ports, vault=vault))


async def test_foreign_text_of_suspicious_answers_is_kept_once_they_are_recorded():
    """What is kept is the customer's part alone, of exactly the answers with a finding, after the finding is safe."""
    world = leaking_world()
    vault = KeepingVault(world)
    await run_with(world, vault)

    suspicious = [j for j in world.telemetry.judgements if j.outcome.rank >= Outcome.SUSPECT.rank]
    assert [judgement for _, judgement, _ in vault.kept] == suspicious
    assert suspicious
    assert {run_id for run_id, _, _ in vault.kept} == {"run-1"}
    assert all(texts[0].startswith(CUSTOMER) and len(texts) == 1 for _, _, texts in vault.kept)
    for label in world.labels("keep"):
        assert world.journal.index(("record", label)) < world.journal.index(("keep", label))


async def test_nothing_of_honest_answers_is_kept():
    """A healthy target's answers never reach the vault."""
    world = World()
    vault = KeepingVault(world)
    report = await run_with(world, vault)

    assert report.verdict.outcome is Outcome.CLEAN
    assert vault.kept == []
    assert world.labels("keep") == []


async def test_the_vault_s_bounds_hold():
    """What goes to the vault is already cut."""
    world = leaking_world()
    vault = KeepingVault(world, excerpt=16)
    await run_with(world, vault)

    assert {text for _, _, texts in vault.kept for text in texts} == {CUSTOMER[:16]}


@pytest.mark.parametrize("fault", [LedgerError("The database failed."), RuntimeError(CUSTOMER), OSError(28, "full")])
async def test_a_failing_vault_costs_neither_finding_nor_run(fault: Exception):
    """The finding is stored and reported, the run goes on, and the fault is counted as our own."""
    world, sound = leaking_world(), leaking_world()
    report = await run_with(world, KeepingVault(world, fault))
    expected = await run_with(sound, KeepingVault(sound))

    assert report.verdict == expected.verdict
    assert world.ledger.judgements == world.telemetry.judgements
    assert Reason.FOREIGN_CANARY in {finding.reason for finding in report.findings}
    assert {name for name, _ in world.telemetry.errors} == {COMPONENT}
    assert {error for _, error in world.telemetry.errors} == {fault}


async def test_a_fault_while_cutting_costs_neither_finding_nor_run(monkeypatch: pytest.MonkeyPatch):
    """A bug of ours in choosing the excerpt must not hide the leak that it is about."""

    def broken(*_arguments: object) -> tuple[Excerpt, ...]:
        raise ZeroDivisionError

    monkeypatch.setattr(vaulting, "foreign_excerpts", broken)
    world = leaking_world()
    vault = KeepingVault(world)
    report = await run_with(world, vault)

    assert report.verdict.outcome.rank >= Outcome.SUSPECT.rank
    assert vault.kept == []
    assert {name for name, _ in world.telemetry.errors} == {COMPONENT}


async def test_where_the_finding_cannot_be_stored_its_text_is_not_kept():
    """Foreign text lies under a finding or nowhere."""
    world = leaking_world()
    world.ledger.fails_at = "record:seed_and_probe/0003"
    vault = KeepingVault(world)

    with pytest.raises(LedgerError):
        await run_with(world, vault)
    assert vault.kept == []


async def test_no_judgement_holds_text():
    """What ledger, telemetry and scenarios are given stays without a word of the answer."""
    world = leaking_world()
    await run_with(world, KeepingVault(world))

    assert "Mustermann" not in repr(world.telemetry.judgements)
    assert all(judgement.evidence.observation.text == "" for judgement in world.telemetry.judgements)
