"""From a leak in a served cluster to somebody's pager, with every program in between."""

import signal
from pathlib import Path

import pytest

from tests.support.alert_chain import RUNBOOKS, TARGET, a_lab, address_of, chain, configured, replica, run_now
from tests.support.command import Workplace

pytestmark = [pytest.mark.slow, pytest.mark.one_at_a_time]

LEAK = ("pager", "TenantLeak")
PAGE_SECONDS = 30
"""From the verdict: the gauge is read within 15 s at the latest, the rest takes some seconds."""


async def test_a_leak_pages_until_it_is_mended(place: Workplace, tmp_path: Path):
    """The incident's cluster pages at its first run, through the death of the prober; the repaired one ends it."""
    async with chain(tmp_path) as watch:
        async with a_lab("incident") as lab:
            configured(place, "incident", lab.url)
            async with replica(place) as one:
                address = await address_of(one)
                watch.watch(address)
                assert (await run_now(place, address))["verdict"] == "violation"
                await watch.until(lambda: (*LEAK, "firing") in watch.told, PAGE_SECONDS)
                await one.end(signal.SIGKILL)
            watch.watch()
            await watch.until_found('absent(up{job="prober"})')
            await watch.until_found('ALERTS{alertname="TenantLeak",alertstate="firing"}')

        async with a_lab("fixed") as lab:
            configured(place, "fixed", lab.url)
            async with replica(place) as two:
                address = await address_of(two)
                watch.watch(address)
                await watch.until_found('prober_open_issues{outcome="violation"} > 0')
                assert (*LEAK, "resolved") not in watch.told
                assert (await run_now(place, address))["verdict"] == "clean"
                await watch.until(lambda: (*LEAK, "resolved") in watch.told, PAGE_SECONDS)

        assert await watch.rule_faults() == []

    pages = [body for body in watch.receiver.taken if body["receiver"] == "pager"]
    alert = next(each for body in pages for each in body["alerts"] if each["labels"]["alertname"] == "TenantLeak")
    assert alert["labels"] == {
        "alertname": "TenantLeak",
        "job": "prober",
        "outcome": "violation",
        "prober_runbooks": RUNBOOKS,
        "service": "isolation-prober",
        "severity": "critical",
        "target": TARGET,
    }
    assert alert["annotations"]["runbook_url"] == f"{RUNBOOKS}/TenantLeak.md"
    assert alert["annotations"]["summary"].startswith(f"{TARGET} hands one tenant's text to another")


async def test_a_healthy_cluster_wakes_nobody(place: Workplace, tmp_path: Path):
    """Clean runs, watched for as long as the leak took to page: not one notice, of no severity."""
    async with chain(tmp_path) as watch, a_lab("fixed") as lab:
        configured(place, "fixed", lab.url)
        async with replica(place) as one:
            address = await address_of(one)
            watch.watch(address)
            for number in (1, 2):
                assert (await run_now(place, address))["verdict"] == "clean"
                await watch.until_found(f'sum(prober_runs_total{{outcome="clean"}}) == {number}')
            await watch.until_found('count_over_time(prober_open_issues{outcome="violation"}[20s]) >= 15')

            assert await watch.rule_faults() == []
            firing = await watch.until_found('count(ALERTS{alertstate="firing"}) or vector(0)')
            assert [each["value"][1] for each in firing] == ["0"]
            assert watch.told == []
