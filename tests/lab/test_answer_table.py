import asyncio
import pathlib

import pytest

from prober.lab.events import Done, Rejection, Stage
from prober.lab.fixes import Fix, RouterMode
from prober.lab.settings import Topology, preset
from tests.support.cluster import SMALL, ask_tokens, running

STUB = {"stub_handoff": 1.0}
AGGREGATED = {"topology": Topology.AGGREGATED}
SYMMETRIC = {"decode_pool_tokens": SMALL.prefill_pool_tokens}
SCALE = 1 / 2_000
PATIENCE = 800.0
ROUTERS = (RouterMode.DECODE_ONLY, RouterMode.JOIN, RouterMode.CANCEL_ON_REFUSAL)


def upstream(version: str) -> dict[str, object]:
    return {"faults": preset(version).faults, "fixes": preset(version).fixes}


def fixed(*fixes: Fix) -> dict[str, object]:
    return {"faults": STUB, "fixes": frozenset(fixes)}


ROWS: dict[str, dict[str, object]] = {
    "no fault": {},
    "`stub_handoff`": fixed(),
    "`stub_handoff` + `retire_after_forward`": fixed(Fix.RETIRE_AFTER_FORWARD),
    "`stub_handoff` + `reject_at_door`": fixed(Fix.REJECT_AT_DOOR),
    "`stub_handoff` + `transfer_checksum`": fixed(Fix.TRANSFER_CHECKSUM),
    "`stub_handoff`, fresh pools": {**fixed(), "is_fresh": True},
    "`stub_handoff`, equal pools": {**fixed(), **SYMMETRIC},
    "`stub_handoff` + `retire_after_forward`, equal pools": {**fixed(Fix.RETIRE_AFTER_FORWARD), **SYMMETRIC},
    "`stub_handoff` + `reject_at_door`, equal pools": {**fixed(Fix.REJECT_AT_DOOR), **SYMMETRIC},
    "0.5.19": upstream("0.5.19"),
    "0.5.20": upstream("0.5.20"),
    "0.5.21": upstream("0.5.21"),
    "auto-truncate": {"auto_truncate": True},
    "auto-truncate + `transfer_checksum`": {
        "auto_truncate": True,
        "fixes": frozenset({Fix.TRANSFER_CHECKSUM}),
    },
    "auto-truncate, equal pools": {"auto_truncate": True, **SYMMETRIC},
    "aggregated": AGGREGATED,
    "aggregated, `stub_handoff`": {**AGGREGATED, **fixed()},
    "aggregated, auto-truncate": {**AGGREGATED, "auto_truncate": True},
}


async def answer(changes: dict[str, object], router: RouterMode) -> str:
    """What a client sees of one prompt between the two limits, in the table's words."""
    settings = {
        "time_scale": SCALE,
        "waiting_timeout_seconds": PATIENCE,
        "is_fresh": False,
        "router": router,
        **changes,
    }
    async with running(SMALL, **settings) as cluster:
        reply = await ask_tokens(cluster, "cedar", 12_000)
        census = cluster.census[-1] if cluster.census else None
        hung = cluster.counters["waiting_timeouts"] > 0
    assert not hung or reply.first_seconds >= PATIENCE * SCALE
    prefix = "hang, then " if hung else ""
    last = reply.events[-1]
    if isinstance(last, Rejection):
        if last.stage is Stage.SCHEDULER:
            return f"{prefix}{last.status}, stream: 200 + error frame"
        return f"{prefix}{last.status}"
    assert isinstance(last, Done)
    assert census
    kind = "200"
    if census.foreign:
        kind = "stale 200" if census.own == 0 else "200 with a stale tail"
    elif census.zero > census.own:
        kind = "200 from zeros"
    elif last.prompt_tokens < 12_000:
        kind = "truncated 200"
    return f"{prefix}{kind}"


async def table() -> list[str]:
    lines = [
        "| switches | " + " | ".join(f"`{router.value}`" for router in ROUTERS) + " |",
        "|---|" + "---|" * len(ROUTERS),
    ]
    for label, changes in ROWS.items():
        cells = [await answer(changes, router) for router in ROUTERS]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return lines


def documented() -> list[str]:
    text = pathlib.Path(__file__).parents[2].joinpath("docs", "lab.md").read_text(encoding="utf-8")
    return text.split("<!-- answers:begin -->\n")[1].split("<!-- answers:end -->")[0].splitlines()


@pytest.mark.no_coverage
@pytest.mark.slow
async def test_the_documented_answers_are_what_the_cluster_gives():
    """docs/lab.md tells, for every combination of switches, exactly what a client sees of an over-limit prompt."""
    assert await table() == documented()


@pytest.mark.no_coverage
@pytest.mark.parametrize("router", ROUTERS)
async def test_a_prompt_below_the_limit_is_served_whatever_the_switches(router: RouterMode):
    """No combination of switches refuses, delays or corrupts a prompt that fits."""
    for changes in ROWS.values():
        async with running(SMALL, **{"router": router, **changes}) as cluster:
            reply = await ask_tokens(cluster, "cedar", 10_500)
            assert reply.done.prompt_tokens == 10_500
            assert reply.text.count("cedar") == 32
            assert cluster.census[-1].own == cluster.census[-1].pages


if __name__ == "__main__":
    print("\n".join(asyncio.run(table())))  # noqa: T201 - writes the table for docs/lab.md
