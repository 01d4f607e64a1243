"""A replica's live objects."""

import dataclasses
import datetime as dt

import pytest

from prober.config.keyring_file import rotate_keyring
from prober.config.schedules import ServiceSettings
from prober.domain.campaign import Trigger
from prober.domain.errors import ConfigError, LeaseLostError
from prober.domain.job import JobRequest
from prober.domain.outcome import Outcome
from prober.wiring.service import open_replica, perform, renewed, replica_name
from prober.wiring.system import Switch
from tests.support.command import Workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import hostile
from tests.wiring.test_prober import a_log, settings_of

LEASE = dt.timedelta(seconds=30)
MANUAL = JobRequest(target="hostile", trigger=Trigger.MANUAL)


async def test_a_claimed_job_is_performed_under_its_claim(place: Workplace):
    """The run is the job's from its first row on, and has the job's own scenarios and cap."""
    async with hostile(FakeLlm().handler()) as server:
        settings = settings_of(place.configure(f"http://127.0.0.1:{server.port}/v1"))
        async with open_replica(settings, log=a_log(settings)[0], stop=Switch()) as replica:
            await replica.queue.enqueue(dataclasses.replace(MANUAL, scenarios=("baseline",), max_run_tokens=900_000))
            job = await replica.queue.claim(["hostile"], LEASE)
            assert job is not None
            report = await perform(replica.prober, job)
            done = await replica.queue.settle(job, report.verdict.outcome)

    assert (done.run_id, done.outcome) == (report.run.run_id, Outcome.CLEAN)
    assert report.run.campaign.scenarios == ("baseline",)
    assert report.run.campaign.max_run_tokens == 900_000
    assert report.run.trigger is Trigger.MANUAL


async def test_a_job_that_was_lost_sends_nothing(place: Workplace):
    """The claim is asked for before the first probe."""
    settings = settings_of(place)
    async with open_replica(settings, log=a_log(settings)[0], stop=Switch()) as replica:
        await replica.queue.enqueue(MANUAL)
        job = await replica.queue.claim(["hostile"], LEASE)
        assert job is not None
        await replica.queue.give_back(job, "drained")
        with pytest.raises(LeaseLostError):
            await perform(replica.prober, job)
        assert await replica.prober.lookups.runs() == ()


async def test_a_job_that_this_configuration_does_not_know_is_refused(place: Workplace):
    """An unknown target or scenario is the configuration's fault, not ours."""
    settings = settings_of(place)
    async with open_replica(settings, log=a_log(settings)[0], stop=Switch()) as replica:
        for request in (
            dataclasses.replace(MANUAL, target="unknown"),
            dataclasses.replace(MANUAL, scenarios=("unknown",)),
        ):
            await replica.queue.enqueue(request)
            job = await replica.queue.claim([request.target], LEASE)
            assert job is not None
            with pytest.raises(ConfigError):
                await perform(replica.prober, job)


async def test_a_renewed_prober_has_the_new_keys_and_forgets_no_probe_without_need(place: Workplace):
    """The index of live probes goes on while the keys are the same; after a rotation it begins anew."""
    settings = settings_of(place)
    async with open_replica(settings, log=a_log(settings)[0], stop=Switch()) as replica:
        same = renewed(replica.prober, settings)
        assert same.live is replica.prober.live
        rotate_keyring(settings.key_file)
        rotated = renewed(replica.prober, settings)

    assert rotated.keyring.current_epoch != same.keyring.current_epoch
    assert rotated.live is not same.live


async def test_a_reload_forgives_no_debt_of_tokens(place: Workplace):
    """What a long prompt owes is waited for after a reload too, as long as the target's rates are the same."""
    old = settings_of(place.configure("http://127.0.0.1:9/v1", tokens_per_minute=60_000, tenant_tokens_per_minute=700))
    async with open_replica(old, log=a_log(old)[0], stop=Switch()) as replica:
        before = replica.prober.paces["hostile"]
        again = renewed(replica.prober, settings_of(place))
        other = renewed(again, settings_of(place.configure("http://127.0.0.1:9/v1", tokens_per_minute=70_000)))

    assert again.paces["hostile"] is before
    assert other.paces["hostile"] is not before


def test_a_replica_is_named_as_configured_or_as_its_machine(place: Workplace, monkeypatch: pytest.MonkeyPatch):
    """A machine's name that could stand in no metric is not taken."""
    settings = settings_of(place)
    for host, name in (("node-7.example.com", "node-7"), ("", "replica"), ("bad name", "replica")):
        monkeypatch.setattr("socket.gethostname", lambda host=host: host)
        assert replica_name(settings) == name
    named = settings.model_copy(update={"service": ServiceSettings(replica="one")})
    assert replica_name(named) == "one"
