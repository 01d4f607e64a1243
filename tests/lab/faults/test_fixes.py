"""What each fix turns its fault into, as docs/lab.md tells it."""

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

import pytest

from prober.lab.cluster import Cluster
from prober.lab.events import Rejection
from prober.lab.faults import FAULTS, known_fixes
from prober.lab.scenes import SCENES
from tests.support.cluster import Reply, ask, ask_together, ask_tokens, patient, prompt, request, running
from tests.support.markdown import ROOT, codes, document, rows

TAGS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven")
OUTCOMES = frozenset({"clean", "refusal", "500", "hang", "leak"})
TABLE: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        (codes(cells[0])[0], codes(cells[1])[0]): cells[2]
        for cells in rows(
            document("docs/lab.md").partition("<!-- fixes:begin -->")[2].partition("<!-- fixes:end -->")[0]
        )
    }
)
"""(fault, fix) -> what it is with the fix."""

Provoke = Callable[[Cluster], Awaitable[Mapping[str, Reply]]]


async def over_limit(cluster: Cluster) -> Mapping[str, Reply]:
    """Others' prompts, then one that only decode has pages for."""
    for tag in TAGS[:3]:
        await ask_tokens(cluster, tag, 6_000)
    return {"fjord": await ask_tokens(cluster, "fjord", 12_000)}


async def late_error(cluster: Cluster) -> Mapping[str, Reply]:
    """Others' prompts, then one whose grammar does not compile."""
    for tag in TAGS[:3]:
        await ask_tokens(cluster, tag, 6_000)
    text = prompt("fjord", 3_000, cluster.tokenizer)
    asked = dataclasses.replace(request("fjord", text), late_error="Failed to compile grammar")
    return {"fjord": await ask(cluster, asked)}


async def together(cluster: Cluster) -> Mapping[str, Reply]:
    """Eight prompts at once."""
    return await ask_together(cluster, TAGS, 280)


PROVOKING: Mapping[str, Provoke] = MappingProxyType(
    {
        "stub_handoff": over_limit,
        "invalid_handoff": late_error,
        "stale_reference": together,
        "room_collision": together,
        "length_for_abort": over_limit,
    }
)
"""Faults that one cluster shows at once; the others' tests hold their fixes themselves."""

ELSEWHERE = MappingProxyType({"early_release": "tests/lab/test_early_release.py"})


async def outcome(fault: str, *fixes: str) -> str:
    """What comes of a fault's provoking requests, in the table's words; none of them: an empty 200."""
    settings = SCENES[FAULTS[fault].SCENE]
    if fixes and PROVOKING[fault] is together:
        settings = patient(settings)
    async with running(settings, faults={fault: 1.0}, fixes=frozenset(fixes)) as cluster:
        replies = await PROVOKING[fault](cluster)
        hung = cluster.counters["waiting_timeouts"]
    if any(other in reply.text for tag, reply in replies.items() for other in TAGS if other != tag):
        return "leak"
    statuses = {reply.events[-1].status for reply in replies.values() if isinstance(reply.events[-1], Rejection)}
    if hung:
        return "hang"
    if statuses:
        return "500" if 500 in statuses else "refusal"
    return "clean" if all(tag in reply.text for tag, reply in replies.items()) else "empty 200"


def test_the_table_lists_every_fault_with_every_fix_that_it_lists():
    """A fault has at least one row, a fix that unmakes it has its row, and nothing is invented."""
    assert set(TABLE.values()) <= OUTCOMES
    assert {fault for fault, _ in TABLE} == set(FAULTS)
    assert {fix for _, fix in TABLE} == set(known_fixes())
    assert [(name, fix) for name, fault in FAULTS.items() for fix in fault.FIXES if (name, fix) not in TABLE] == []


def test_every_fault_has_a_fix_that_ends_it():
    """With some fix nobody gets what is not theirs, and nobody waits for ever."""
    ended = {fault for (fault, _), what in TABLE.items() if what in {"clean", "refusal"}}

    assert ended == set(FAULTS)


@pytest.mark.no_coverage
@pytest.mark.parametrize(("fault", "fix"), [pair for pair in TABLE if pair[0] in PROVOKING])
async def test_what_a_fix_turns_its_fault_into(fault: str, fix: str):
    """The provoking requests end as the table says, and not so without the fix."""
    assert await outcome(fault, fix) == TABLE[fault, fix]
    assert await outcome(fault) in {"leak", "empty 200"}


@pytest.mark.parametrize("fault", PROVOKING)
async def test_fixes_without_a_row_leave_the_fault_alone(fault: str):
    """All other fixes of prefill and decode together change nothing."""
    of_others = {fix for name in (*PROVOKING, "early_release") for other, fix in TABLE if other == name}

    assert await outcome(fault, *sorted(of_others - {fix for name, fix in TABLE if name == fault})) in {
        "leak",
        "empty 200",
    }


@pytest.mark.parametrize(("fault", "fix"), [pair for pair in TABLE if pair[0] not in PROVOKING])
def test_a_fix_is_at_work_in_its_faults_own_tests(fault: str, fix: str):
    """The fault's own file plays it with each of its fixes: by name, or by those that the fault lists."""
    module = FAULTS[fault].__module__.rpartition(".")[2]
    own = f"tests/lab/faults/test_{module}.py"
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in (own, ELSEWHERE.get(fault, own)))

    is_named = fix in text or f"Fix.{fix.upper()}" in text
    assert is_named or (fix in FAULTS[fault].FIXES and "is_fixed=is_fixed" in text)
