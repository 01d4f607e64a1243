"""Loops that fail are reported and begin anew; they end with their block."""

import asyncio

import pytest

from prober.service import supervision
from prober.service.supervision import supervised
from tests.support.holding import until


async def test_a_failing_loop_begins_anew_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch):
    """One fault is one report, by the loop's name; at the block's end all of them are over."""
    monkeypatch.setattr(supervision, "RESTART_SECONDS", 0.01)
    faults: list[str] = []
    begun, steady, ended = 0, 0, 0

    async def failing() -> None:
        nonlocal begun, ended
        begun += 1
        if begun < 3:
            raise RuntimeError
        try:
            await asyncio.sleep(3_600)
        finally:
            ended += 1

    async def going_on() -> None:
        nonlocal steady, ended
        steady += 1
        try:
            await asyncio.sleep(3_600)
        finally:
            ended += 1

    def report(component: str, error: BaseException) -> None:
        faults.append(f"{component} {type(error).__name__}")

    async with supervised({"bad": failing, "good": going_on}, report):
        await until(lambda: begun == 3)
    assert faults == ["bad RuntimeError"] * 2
    assert (steady, ended) == (1, 2)


async def test_a_loop_that_is_done_is_left_alone():
    """Nothing is reported, nothing begun anew."""
    begun = 0

    async def once() -> None:
        nonlocal begun
        begun += 1

    async with supervised({"once": once}, lambda component, _: pytest.fail(component)):
        await asyncio.sleep(0.05)
    assert begun == 1
