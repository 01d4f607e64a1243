"""The program that a report hands over shows the fault again where it is, and nothing where it is not."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from prober.domain.exits import Exit
from prober.domain.outcome import Outcome
from prober.report.facts import facts_of
from prober.report.reproduction import key_variable, render, reproduction_of
from prober.service.lab_host import LabOrder, lab_host
from prober.service.lab_run import TENANTS, LabRun, perform
from prober.telemetry.logs import Log
from tests.support.command import Finished, finish

KEYS = {f"key-of-{tenant}": tenant for tenant in TENANTS}
SHRINK = 64
SETTINGS = {"baseline_tokens": 2_000, "baseline_probes": 1, "anchor_probes": 1, "sweep_max_probes": 6}


async def reproduced(program: Path, scene: str) -> Finished:
    """Run the program against a fresh lab, with nothing but Python and its variables."""
    async with lab_host() as host, host.lab(LabOrder(scene=scene, keys=KEYS, shrink=SHRINK)) as lab:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            str(program),
            env={
                "PATH": os.environ["PATH"],
                "TARGET_URL": f"{lab.url}/v1",
                **{key_variable(tenant): key for key, tenant in KEYS.items()},
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        return await finish(process, 120)


@pytest.mark.slow
@pytest.mark.one_at_a_time
async def test_the_program_finds_the_fault_and_its_absence(quiet_log: Log, tmp_path: Path):
    """Made from one run of the incident: 1 and whose words came back on another such cluster, 0 on the repaired one."""
    report = await perform(
        LabRun(scene="incident", scenarios=("baseline", "limit_sweep"), settings=SETTINGS, shrink=SHRINK),
        log=quiet_log,
    )
    facts = facts_of(report)
    assert facts.outcome is Outcome.VIOLATION
    assert reproduction_of(facts).steps
    program = tmp_path / "reproduce.py"
    program.write_text(render(facts), encoding="utf-8")

    faulty = await reproduced(program, "incident")
    repaired = await reproduced(program, "fixed")

    assert (faulty.code, repaired.code) == (Exit.VIOLATION, Exit.CLEAN), (faulty.said, repaired.said)
    assert "FOREIGN TEXT" in faulty.stdout
    assert "SERVED although it had to be refused" in faulty.stdout
    assert "the fault was seen" in faulty.stdout
    assert "nothing wrong was seen" in repaired.stdout
    assert faulty.stderr == repaired.stderr == ""
