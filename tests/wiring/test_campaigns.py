"""From settings to what runs are made of."""

import io
import logging

import pytest

from prober.config.schema import Settings
from prober.domain.errors import ConfigError
from prober.telemetry.logs import LogFormat, open_log
from prober.wiring.campaigns import campaign_of, connection_of, read_settings, redactor_for
from prober.wiring.system import SystemClock
from tests.support.command import CREDENTIALS, Workplace


def settings_of(place: Workplace) -> Settings:
    return read_settings(place.config, CREDENTIALS).settings


def test_arguments_replace_what_is_configured(place: Workplace):
    """Scenarios and cap of one run can be given; unknown names are refused."""
    settings = settings_of(place)
    campaign = campaign_of(settings, "hostile", scenarios=["limit_sweep"], max_run_tokens=7)

    assert (campaign.scenarios, campaign.max_run_tokens) == (("limit_sweep",), 7)
    assert campaign_of(settings, "hostile").scenarios == ("baseline", "seed_and_probe")
    with pytest.raises(ConfigError, match="no scenario 'x'"):
        campaign_of(settings, "hostile", scenarios=["x"])


def test_the_log_s_redactor_knows_every_secret_of_the_configuration(place: Workplace):
    """Credentials, header values, proxy and database URLs can be logged by nobody, even by mistake."""
    place.configure(
        "http://127.0.0.1:9/v1", headers={"X-Edge": "edge-secret-123456"}, proxy="http://user:proxy-secret@127.0.0.1:9"
    )
    settings = settings_of(place)
    stream = io.StringIO()
    log = open_log(
        stream, form=LogFormat.JSON, redactor=redactor_for(settings), now=SystemClock().now, level=logging.DEBUG
    )
    log.error("oops", facts=[*CREDENTIALS.values(), "edge-secret-123456", "http://user:proxy-secret@127.0.0.1:9"])

    written = stream.getvalue()
    assert "oops" in written
    assert not any(secret in written for secret in (*CREDENTIALS.values(), "edge-secret", "proxy-secret"))


def test_a_connection_is_what_the_target_s_settings_say(place: Workplace):
    """Address, pacing, certificate and further headers arrive where requests are made."""
    place.configure(
        "http://127.0.0.1:9/v1",
        starts_per_period=3,
        period_seconds=2,
        max_in_flight=4,
        headers={"X-Edge": "on"},
        body={"seed": 7},
        session_header="x-sticky",
        user_agent="someone-else/1",
        deadline_seconds=45,
    )
    connection = connection_of(settings_of(place).targets["hostile"])

    assert connection.base_url == "http://127.0.0.1:9/v1"
    assert (connection.starts_per_period, connection.period_seconds, connection.max_in_flight) == (3, 2, 4)
    assert connection.extra_headers == {"X-Edge": "on"}
    assert connection.extra_body == {"seed": 7}
    assert (connection.session_header, connection.user_agent) == ("x-sticky", "someone-else/1")
    assert (connection.client_cert, connection.ca_file, connection.proxy) == (None, None, None)
    assert connection.deadline_seconds == 45
