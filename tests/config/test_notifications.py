"""The configuration's section `notifications`."""

from pathlib import Path

import pytest

from prober.config.dump import dump
from prober.config.loader import LoadedSettings, load_settings
from prober.config.notifications import MAX_RECEIVERS
from prober.config.problems import InvalidConfigError
from tests.config.test_loader import DIALECTS, MINIMAL, SCENARIOS
from tests.config.test_loader import ENVIRONMENT as LOADER_ENVIRONMENT

ENVIRONMENT = LOADER_ENVIRONMENT | {"HOOK": "https://hooks.example/T01/planted-url", "HMAC": "planted-hmac-secret"}
GOOD = """\
notifications:
  ops: {kind: slack, url: "${HOOK}"}
  siem: {kind: webhook, url: https://siem.example/x, secret: "${HMAC}", targets: [glm], min_outcome: violation}
  pager: {kind: pagerduty, secret: "${HMAC}", throttle_per_minute: 60}
  alerts: {kind: alertmanager, url: "http://ann:pw@127.0.0.1:9093"}
"""


def load(folder: Path, text: str) -> LoadedSettings:
    path = folder / "prober.yaml"
    path.write_text(MINIMAL + text)
    return load_settings(path, ENVIRONMENT, known_dialects=DIALECTS, known_scenarios=SCENARIOS)


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(InvalidConfigError) as caught:
        load(folder, text)
    assert "planted" not in str(caught.value)
    return [line.split(": ", 1)[1] for line in str(caught.value).splitlines()]


def test_receivers_of_every_kind(tmp_path: Path):
    """Each is read with its defaults, and none of its secrets is ever shown."""
    loaded = load(tmp_path, GOOD)
    receivers = loaded.settings.notifications

    assert loaded.warnings == ()
    assert list(receivers) == ["ops", "siem", "pager", "alerts"]
    assert receivers["ops"].url.reveal() == ENVIRONMENT["HOOK"]
    assert (receivers["ops"].min_outcome, receivers["ops"].throttle_per_minute) == ("suspect", 10)
    assert (receivers["siem"].min_outcome, receivers["siem"].targets) == ("violation", ("glm",))
    for shown in (dump(loaded.settings), repr(loaded.settings)):
        assert "planted" not in shown
        assert "ann:pw" not in shown
    assert load(tmp_path, "").settings.notifications == {}


def test_secrets_may_stand_in_files_of_their_own(tmp_path: Path):
    """Relative to the configuration; one that all may read is warned about; a private authority is found there too."""
    for name, text in (("url", ENVIRONMENT["HOOK"]), ("hmac", "planted-hmac\n"), ("ca.pem", "PEM")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    (tmp_path / "url").chmod(0o644)
    text = "notifications:\n  siem: {kind: webhook, url_file: url, secret_file: hmac, ca_file: ca.pem}\n"
    loaded = load(tmp_path, text)
    siem = loaded.settings.notifications["siem"]

    assert (siem.url.reveal(), siem.secret.reveal()) == (ENVIRONMENT["HOOK"], "planted-hmac")
    assert siem.ca_file == tmp_path / "ca.pem"
    (warning,) = loaded.warnings
    assert "notifications.siem.url_file: every user of this machine can read this file" in warning


@pytest.mark.parametrize(
    ("receiver", "problem"),
    [
        ("{kind: telegram}", "notifications.x.kind: must be webhook, slack, pagerduty or alertmanager"),
        ("{kind: slack}", "notifications.x: needs a url or a url_file"),
        ("{kind: webhook, url: https://h/}", "notifications.x: needs a secret or a secret_file"),
        ("{kind: pagerduty}", "notifications.x: needs a secret or a secret_file"),
        (
            '{kind: slack, url: "${HOOK}", secret: "${HMAC}"}',
            "notifications.x: takes no secret: that of Slack stands in its url",
        ),
        (
            '{kind: slack, url: "${HOOK}", url_file: url}',
            "notifications.x.url_file: stands beside url; keep one of them",
        ),
        (
            "{kind: slack, url_file: none}",
            "notifications.x.url_file: the file cannot be read: No such file or directory",
        ),
        ("{kind: slack, url: planted}", "notifications.x.url: must be a URL of the form http://… or https://…"),
        ("{kind: slack, url: 'https://h/#planted'}", "notifications.x.url: must not hold a fragment"),
        ('{kind: slack, url: "${HOOK}", ca_file: none}', "notifications.x.ca_file: is no file that can be found"),
        (
            '{kind: slack, url: "${HOOK}", targets: []}',
            "notifications.x.targets: is empty; leave it out for all targets",
        ),
        (
            '{kind: slack, url: "${HOOK}", targets: [planted]}',
            "notifications.x.targets[0]: names no target of this file",
        ),
        (
            '{kind: slack, url: "${HOOK}", self_test: true, targets: [glm]}',
            "notifications.x.targets: stands beside self_test: such a receiver hears of the self-test alone",
        ),
        (
            '{kind: slack, url: "${HOOK}", self_test: true}\n  y: {kind: slack, url: "${HOOK}", self_test: true}',
            "notifications.y.self_test: stands beside that of x; one receiver hears of the self-test",
        ),
        (
            '{kind: slack, url: "${HOOK}", min_outcome: clean}',
            "notifications.x.min_outcome: must be 'suspect' or 'violation'",
        ),
        (
            '{kind: slack, url: "${HOOK}", throttle_per_minute: 0}',
            "notifications.x.throttle_per_minute: must be at least 1",
        ),
        ('{kind: slack, url: "${HOOK}", planted: 1}', "notifications.x: unknown key"),
    ],
)
def test_what_cannot_work_is_said_with_its_place(tmp_path: Path, receiver: str, problem: str):
    """At load, not at the first leak; no value of the file is shown."""
    assert problems(tmp_path, f"notifications:\n  x: {receiver}\n") == [problem]


def test_names_and_numbers_are_bounded(tmp_path: Path):
    """Names stand in metrics; each receiver has a loop of its own."""
    bad = problems(tmp_path, 'notifications:\n  "a b": {kind: slack, url: "${HOOK}"}\n')
    assert bad == ["notifications: a receiver's name must be 1 to 63 letters, digits, - or _"]

    many = "".join(f'  r{number}: {{kind: slack, url: "${{HOOK}}"}}\n' for number in range(MAX_RECEIVERS + 1))
    assert problems(tmp_path, f"notifications:\n{many}") == [
        f"notifications: holds more than {MAX_RECEIVERS} receivers"
    ]


def test_what_is_unwise_is_warned_about(tmp_path: Path):
    """Secrets in the file itself, and notices over plain HTTP to another machine."""
    text = """\
notifications:
  ops: {kind: slack, url: https://hooks.example/planted}
  siem: {kind: webhook, url: http://siem.example/, secret: planted-secret}
"""
    warnings = load(tmp_path, text).warnings

    assert [warning.split(": ", 1)[1] for warning in warnings] == [
        "notifications.ops.url: stands here in plain text; use ${NAME} or url_file",
        "notifications.siem.url: notices would cross the network unencrypted",
        "notifications.siem.secret: stands here in plain text; use ${NAME} or secret_file",
    ]
