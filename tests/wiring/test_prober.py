"""One process's live objects."""

import datetime as dt
import io
import logging

import pytest

from prober.config.schema import Settings
from prober.domain.campaign import Trigger
from prober.domain.errors import ConfigError
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.telemetry.logs import Log, LogFormat, open_log
from prober.wiring.campaigns import campaign_of, read_settings, redactor_for
from prober.wiring.prober import ABANDONED_AFTER, open_lookups, open_prober
from prober.wiring.system import Switch, SystemClock
from tests.support.command import CREDENTIALS, Workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import hostile


def settings_of(place: Workplace) -> Settings:
    return read_settings(place.config, CREDENTIALS).settings


def a_log(settings: Settings) -> tuple[Log, io.StringIO]:
    stream = io.StringIO()
    log = open_log(
        stream, form=LogFormat.JSON, redactor=redactor_for(settings), now=SystemClock().now, level=logging.DEBUG
    )
    return log, stream


async def test_a_run_through_everything_is_clean_logged_counted_and_stored(place: Workplace):
    """Keys, database, endpoint, telemetry: put together, they perform a run."""
    async with hostile(FakeLlm().handler()) as server:
        settings = settings_of(place.configure(f"http://127.0.0.1:{server.port}/v1"))
        log, stream = a_log(settings)
        async with open_prober(settings, log=log) as prober:
            report = await prober.run(campaign_of(settings, "hostile"), Trigger.ROLLOUT)
            metrics = prober.metrics.text()

    assert report.verdict.outcome is Outcome.CLEAN
    assert 'prober_runs_total{outcome="clean",target="hostile",trigger="rollout"} 1.0' in metrics
    assert 'prober_internal_errors_total{component="runner"} 0.0' in metrics
    assert stream.getvalue().count('"event": "probe_judged"') == len(report.probes)
    async with open_lookups(settings) as lookups:
        (stored,) = await lookups.runs()
    assert (stored.run_id, stored.outcome) == (report.run.run_id, Outcome.CLEAN)


async def test_the_stop_switch_reaches_every_run(place: Workplace):
    """A switch thrown before the start: nothing is sent at all."""
    switch = Switch()
    switch.set()
    settings = settings_of(place)
    async with open_prober(settings, log=a_log(settings)[0], stop=switch) as prober:
        report = await prober.run(campaign_of(settings, "hostile"), Trigger.MANUAL)

    assert report.probes == ()
    assert report.verdict.outcome is Outcome.INCONCLUSIVE
    assert Reason.INTERRUPTED in report.verdict.reasons


async def test_a_run_that_an_earlier_process_left_open_is_closed(place: Workplace):
    """A killed run does not stay open for ever, and is not green; one that may be alive is left alone."""
    settings = settings_of(place)
    async with open_prober(settings, log=a_log(settings)[0]) as prober:
        report = await prober.run(campaign_of(settings, "hostile"), Trigger.MANUAL)
    long_ago = dt.datetime.now(dt.UTC) - ABANDONED_AFTER - dt.timedelta(minutes=1)

    for seen_at, outcome in ((dt.datetime.now(dt.UTC), None), (long_ago, Outcome.INCONCLUSIVE)):
        place.change(
            "UPDATE runs SET ended_at = NULL, outcome = NULL, last_seen_at = ?", f"{seen_at:%Y-%m-%d %H:%M:%S.%f}"
        )
        async with open_prober(settings, log=a_log(settings)[0]) as prober:
            (stored,) = await prober.lookups.runs()
        assert stored.run_id == report.run.run_id
        assert stored.outcome is outcome


async def test_an_old_schema_is_refused_by_name_of_the_remedy(place: Workplace):
    """Nothing starts on a database of another version."""
    place.change("UPDATE alembic_version SET version_num = ?", "0000")
    settings = settings_of(place)

    with pytest.raises(ConfigError, match="prober db upgrade"):
        async with open_prober(settings, log=a_log(settings)[0]):
            pytest.fail("opened")
    with pytest.raises(ConfigError, match="prober db upgrade"):
        async with open_lookups(settings):
            pytest.fail("opened")
